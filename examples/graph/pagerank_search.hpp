#pragma once

#include "../support/figures.hpp"
#include "frontier.hpp"
#include "search_outcome.hpp"
#include "step_runner.hpp"

#include <cstdint>
#include <vector>

namespace graph {

/// Ranks are fixed-point numbers, so that a sum is the same in whatever order it is formed: this
/// stands for 1, the sum of all ranks at the start.
inline constexpr std::uint64_t whole_rank = std::uint64_t{1} << 60;

/// 85 % of a sum of ranks, the share that follows edges.
GNSTOR_HD constexpr std::uint64_t damped(std::uint64_t sum) { return sum / 100 * 85; }

/// One iteration of PageRank: every vertex gives its rank in equal parts to those it points to. As
/// in the GAP benchmark suite, the rank of a vertex without edges goes nowhere.
struct pagerank_program {
  const std::uint64_t* ranks;
  std::uint64_t* sums;  ///< what each vertex has been given, zero at the start
  all_vertices all;

  GNSTOR_HD std::uint32_t active(std::uint64_t word) const { return all.active(word); }
  GNSTOR_HD void retire(std::uint64_t) const {}
  GNSTOR_HD std::uint64_t carried(std::uint32_t v, std::uint64_t edges) const {
    return ranks[v] / edges;
  }
  GNSTOR_HD bool visit(std::uint32_t, std::uint64_t part, const edge_end& edge) const {
    detail::add_to(sums[edge.to], part);
    return true;
  }
};

/// Turns sums into ranks, and adds up by how much ranks have changed.
struct renew_ranks {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, std::uint64_t* ranks, std::uint64_t* sums,
                            std::uint32_t vertices, std::uint64_t* changed) const {
    const std::uint64_t least = (whole_rank - damped(whole_rank)) / vertices;
    std::uint64_t mine = 0;
    for (std::uint64_t v = lane.global_thread(); v < vertices; v += lane.grid_threads()) {
      const std::uint64_t rank = least + damped(sums[v]);
      mine += rank > ranks[v] ? rank - ranks[v] : ranks[v] - rank;
      ranks[v] = rank;
      sums[v] = 0;
    }
    detail::add_to(*changed, mine);
  }
};

/// When PageRank is done.
struct pagerank_limits {
  std::uint32_t iterations = 20;
  double tolerance = 1e-4;  ///< of the sum of all changes in an iteration
};

/// Ranks vertices by kernels; every iteration reads all edges.
template <class Place>
class pagerank_search {
 public:
  pagerank_search(Place& place, std::uint32_t vertices, const support::kernel_shape& shape)
      : vertices_(vertices),
        runner_(place, shape),
        ranks_(place.allocate(std::uint64_t{vertices} * 8)),
        sums_(place.allocate(std::uint64_t{vertices} * 8)),
        changed_(place.allocate(8)) {}

  /// @param on_step called with the outcome so far and the sum of all changes
  template <class Graph, class OnStep>
  search_outcome search(const Graph& graph, const pagerank_limits& limits, const OnStep& on_step) {
    const std::vector<std::uint64_t> start(vertices_, whole_rank / vertices_), none(vertices_);
    ranks_.write(0, start.data(), start.size() * 8);
    sums_.write(0, none.data(), none.size() * 8);
    search_outcome out;
    const support::stopwatch clock;
    double change = 1;
    for (; out.steps < limits.iterations && change > limits.tolerance && out.counts.failed == 0;) {
      out.counts.add(runner_.step(graph, pagerank_program{words(ranks_), words(sums_), {vertices_}},
                                  vertices_));
      std::uint64_t changed = 0;
      changed_.write(0, &changed, 8);
      runner_.run(renew_ranks{}, words(ranks_), words(sums_), vertices_, words(changed_));
      changed_.read(0, &changed, 8);
      change = static_cast<double>(changed) / static_cast<double>(whole_rank);
      ++out.steps;
      out.seconds = clock.seconds();
      on_step(out, change);
    }
    return out;
  }
  std::vector<std::uint64_t> ranks() const {
    std::vector<std::uint64_t> all(vertices_);
    ranks_.read(0, all.data(), all.size() * 8);
    return all;
  }

 private:
  static std::uint64_t* words(const gnstor::host::memory_block& b) {
    return static_cast<std::uint64_t*>(b.data());
  }

  std::uint32_t vertices_;
  step_runner<Place> runner_;
  gnstor::host::memory_block ranks_;
  gnstor::host::memory_block sums_;
  gnstor::host::memory_block changed_;
};

}  // namespace graph

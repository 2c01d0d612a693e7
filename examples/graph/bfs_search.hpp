#pragma once

#include "../support/figures.hpp"
#include "bfs_reference.hpp"
#include "frontier.hpp"
#include "search_outcome.hpp"
#include "step_runner.hpp"

#include <cstdint>
#include <vector>

namespace graph {

/// One level of a breadth-first search, top down: gives the frontier's neighbours a parent.
struct bfs_program {
  std::uint32_t* parents;  ///< `unreached` where nobody has come
  frontier_ref frontier;

  GNSTOR_HD std::uint32_t active(std::uint64_t word) const { return frontier.active(word); }
  GNSTOR_HD void retire(std::uint64_t word) const { frontier.retire(word); }
  GNSTOR_HD std::uint32_t carried(std::uint32_t, std::uint64_t) const { return 0; }
  GNSTOR_HD bool visit(std::uint32_t v, std::uint32_t, const edge_end& edge) const {
    const gnstor::device_word<std::uint32_t> there(parents[edge.to]);
    std::uint32_t nobody = unreached;
    if (there.load(gnstor::relaxed) != nobody) return false;
    // Kernels end before anybody reads what a level wrote: no order is needed within it.
    if (!there.compare_exchange(nobody, v, gnstor::relaxed)) return false;
    return frontier.add(edge.to);
  }
};

/// Runs breadth-first searches by kernels, level by level.
template <class Place>
class bfs_search {
 public:
  bfs_search(Place& place, std::uint32_t vertices, const support::kernel_shape& shape)
      : vertices_(vertices),
        runner_(place, shape),
        frontier_(place, vertices),
        parents_(place.allocate(std::uint64_t{vertices} * 4)) {}

  /// Searches from `source`, a vertex. Stops after a level in which a read failed:
  /// `counts.failed` says how many did.
  /// @param on_level called with the outcome so far and the vertices of the level
  template <class Graph, class OnLevel>
  search_outcome search(std::uint32_t source, const Graph& graph, const OnLevel& on_level) {
    start_at(source);
    search_outcome out;
    const support::stopwatch clock;
    for (std::uint64_t level = 1; level != 0 && out.counts.failed == 0; ++out.steps) {
      const bfs_program program{static_cast<std::uint32_t*>(parents_.data()), frontier_.ref()};
      const step_counts counts = runner_.step(graph, program, level);
      out.counts.add(counts);
      out.reached += counts.changed;
      out.seconds = clock.seconds();
      on_level(out, level);
      level = counts.changed;
      frontier_.advance();
    }
    return out;
  }
  /// The tree of the last search.
  std::vector<std::uint32_t> parents() const {
    std::vector<std::uint32_t> all(vertices_);
    parents_.read(0, all.data(), all.size() * 4);
    return all;
  }
  /// The same where kernels find it.
  const std::uint32_t* data() const { return static_cast<const std::uint32_t*>(parents_.data()); }

 private:
  void start_at(std::uint32_t source) {
    std::vector<std::uint32_t> start(vertices_, unreached);
    start[source] = source;
    parents_.write(0, start.data(), start.size() * 4);
    frontier_.start_at(source);
  }

  std::uint32_t vertices_;
  step_runner<Place> runner_;
  frontier frontier_;
  gnstor::host::memory_block parents_;
};

}  // namespace graph

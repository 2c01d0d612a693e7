#pragma once

#include "../support/figures.hpp"
#include "frontier.hpp"
#include "search_outcome.hpp"
#include "step_runner.hpp"

#include <cstdint>
#include <vector>

namespace graph {

/// Distance of a vertex that no path reaches.
inline constexpr std::uint32_t no_path = 0xffffffff;

/// One step of Bellman and Ford's search: the vertices whose distance has become less offer it to
/// their neighbours.
struct sssp_program {
  std::uint32_t* distances;
  frontier_ref frontier;

  GNSTOR_HD std::uint32_t active(std::uint64_t w) const { return frontier.active(w); }
  GNSTOR_HD void retire(std::uint64_t w) const { frontier.retire(w); }
  GNSTOR_HD std::uint32_t carried(std::uint32_t v, std::uint64_t) const {
    return word(distances[v]).load(gnstor::relaxed);
  }
  GNSTOR_HD bool visit(std::uint32_t, std::uint32_t distance, const edge_end& edge) const {
    const std::uint32_t offered = distance + edge.weight;
    const word there(distances[edge.to]);
    std::uint32_t now = there.load(gnstor::relaxed);
    while (offered < now) {  // `now` becomes less with every turn
      if (there.compare_exchange(now, offered, gnstor::relaxed)) return frontier.add(edge.to);
    }
    return false;
  }

 private:
  using word = gnstor::device_word<std::uint32_t>;
};

/// Finds shortest paths by kernels. Distances are below 2^32 - 1.
template <class Place>
class sssp_search {
 public:
  sssp_search(Place& place, std::uint32_t vertices, const support::kernel_shape& shape)
      : vertices_(vertices),
        runner_(place, shape),
        frontier_(place, vertices),
        distances_(place.allocate(std::uint64_t{vertices} * 4)) {}

  /// Searches from `source`, a vertex. Stops after a step in which a read failed:
  /// `counts.failed` says how many did.
  /// @param on_step called with the outcome so far and the vertices of the step
  template <class Graph, class OnStep>
  search_outcome search(std::uint32_t source, const Graph& graph, const OnStep& on_step) {
    start_at(source);
    search_outcome out;
    const support::stopwatch clock;
    for (std::uint64_t step = 1; step != 0 && out.counts.failed == 0; ++out.steps) {
      const sssp_program program{static_cast<std::uint32_t*>(distances_.data()), frontier_.ref()};
      const step_counts counts = runner_.step(graph, program, step);
      out.counts.add(counts);
      out.seconds = clock.seconds();
      on_step(out, step);
      step = counts.changed;
      frontier_.advance();
    }
    return out;
  }
  std::vector<std::uint32_t> distances() const {
    std::vector<std::uint32_t> all(vertices_);
    distances_.read(0, all.data(), all.size() * 4);
    return all;
  }
  /// The same where kernels find it.
  const std::uint32_t* data() const { return static_cast<const std::uint32_t*>(distances_.data()); }

 private:
  void start_at(std::uint32_t source) {
    std::vector<std::uint32_t> start(vertices_, no_path);
    start[source] = 0;
    distances_.write(0, start.data(), start.size() * 4);
    frontier_.start_at(source);
  }

  std::uint32_t vertices_;
  step_runner<Place> runner_;
  frontier frontier_;
  gnstor::host::memory_block distances_;
};

}  // namespace graph

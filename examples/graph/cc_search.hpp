#pragma once

#include "../support/figures.hpp"
#include "frontier.hpp"
#include "search_outcome.hpp"
#include "step_runner.hpp"

#include <cstdint>
#include <vector>

namespace graph {

/// Joins the components of both ends of every edge: a forest whose trees are the components, and
/// whose roots are their smallest vertices (as Afforest and ECL-CC do). Each edge is read once.
struct cc_program {
  std::uint32_t* parents;  ///< never greater than the vertex itself
  all_vertices all;
  bool directed;

  GNSTOR_HD std::uint32_t active(std::uint64_t w) const { return all.active(w); }
  GNSTOR_HD void retire(std::uint64_t) const {}
  GNSTOR_HD std::uint32_t carried(std::uint32_t, std::uint64_t) const { return 0; }
  GNSTOR_HD bool visit(std::uint32_t v, std::uint32_t, const edge_end& edge) const {
    if (!directed && edge.to > v) return false;  // its other direction is in the list of edge.to
    std::uint32_t a = root_of(v), b = root_of(edge.to);
    while (a != b) {  // every turn takes the greater of both further down
      const std::uint32_t high = a < b ? b : a, low = a < b ? a : b;
      std::uint32_t expected = high;
      if (word(parents[high]).compare_exchange(expected, low, gnstor::relaxed)) return true;
      a = root_of(expected);
      b = low;
    }
    return false;
  }

  /// The root of `v` as of now. Shortens the way there for those who come later.
  GNSTOR_HD std::uint32_t root_of(std::uint32_t v) const {
    std::uint32_t above = word(parents[v]).load(gnstor::relaxed);
    while (above != v) {
      const std::uint32_t next = word(parents[above]).load(gnstor::relaxed);
      // Only towards the root: a value that is smaller than what is there.
      if (next != above) word(parents[v]).store(next, gnstor::relaxed);
      v = above;
      above = next;
    }
    return v;
  }

 private:
  using word = gnstor::device_word<std::uint32_t>;
};

/// Every vertex gets its root.
struct flatten_components {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, cc_program program) const {
    for (std::uint64_t v = lane.global_thread(); v < program.all.vertices;
         v += lane.grid_threads()) {
      const auto id = static_cast<std::uint32_t>(v);
      gnstor::device_word<std::uint32_t>(program.parents[v])
          .store(program.root_of(id), gnstor::relaxed);
    }
  }
};

/// Finds connected components by kernels, in one step over all edges; edges of a directed graph
/// count in both directions (weak components).
template <class Place>
class cc_search {
 public:
  cc_search(Place& place, std::uint32_t vertices, const support::kernel_shape& shape)
      : vertices_(vertices),
        runner_(place, shape),
        labels_(place.allocate(std::uint64_t{vertices} * 4)) {}

  template <class Graph>
  search_outcome search(const Graph& graph, bool directed) {
    std::vector<std::uint32_t> start(vertices_);
    for (std::uint32_t v = 0; v < vertices_; ++v) start[v] = v;
    labels_.write(0, start.data(), start.size() * 4);
    search_outcome out;
    const support::stopwatch clock;
    const cc_program program{static_cast<std::uint32_t*>(labels_.data()), {vertices_}, directed};
    out.counts = runner_.step(graph, program, vertices_);
    runner_.run(flatten_components{}, program);
    out.seconds = clock.seconds();
    out.steps = 1;
    return out;
  }
  /// Of every vertex, the smallest one of its component.
  std::vector<std::uint32_t> labels() const {
    std::vector<std::uint32_t> all(vertices_);
    labels_.read(0, all.data(), all.size() * 4);
    return all;
  }
  /// The same where kernels find it.
  const std::uint32_t* data() const { return static_cast<const std::uint32_t*>(labels_.data()); }

 private:
  std::uint32_t vertices_;
  step_runner<Place> runner_;
  gnstor::host::memory_block labels_;
};

}  // namespace graph

/// Steps that copy their own edges first: what paged graph programs are compared with.
// label: thorough
#include "../../benchmark/program_paging/active_subgraph.hpp"

#include "../../examples/graph/bfs_search.hpp"
#include "../../examples/graph/cc_search.hpp"
#include "../../examples/graph/kronecker.hpp"
#include "../../examples/graph/program_reference.hpp"
#include "../../examples/support/memory_array.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace gnstor;

constexpr support::kernel_shape shape{.grid = 2, .block = 64};
using copied = benchmarks::copied_subgraph<support::on_memory>;

struct weighted_graph {
  graph::csr g;
  std::vector<std::uint32_t> weights = graph::draw_weights(g);

  benchmarks::host_graph host(bool weighted) const {
    return {g.offsets.data(), g.neighbours.data(), weighted ? weights.data() : nullptr,
            g.vertices(), g.edges()};
  }
};

/// What is wrong with the results of all programs that copy their edges so.
std::string wrong_results(const weighted_graph& in, bool by_cores,
                          const benchmarks::subgraph_options& o) {
  const graph::csr& g = in.g;
  support::on_memory place;
  const auto nothing = [](const auto&, auto) {};
  copied plain(place, in.host(false), o), weighted(place, in.host(true), o);
  plain.copy_offsets();
  weighted.copy_offsets();
  const std::uint32_t source = graph::pick_source(g, 5);
  graph::bfs_search bfs(place, g.vertices(), shape);
  const auto searched = bfs.search(source, plain.seen(by_cores), nothing);
  CHECK(searched.counts.failed == 0);
  std::string wrong = graph::verify_bfs_tree(g, source, bfs.parents());
  // Each vertex takes part in one step: no edge is copied twice.
  CHECK(plain.bytes_copied() == searched.counts.walked * 4);
  graph::cc_search cc(place, g.vertices(), shape);
  (void)cc.search(plain.seen(by_cores), g.directed);
  wrong += graph::detail::first_difference<std::uint32_t>("component", cc.labels(),
                                                          graph::component_labels(g));
  CHECK(plain.bytes_copied() == (searched.counts.walked + g.edges()) * 4);
  graph::sssp_search sssp(place, g.vertices(), shape);
  const auto paths = sssp.search(source, weighted.seen(by_cores), nothing);
  CHECK(weighted.bytes_copied() == paths.counts.walked * 8);
  return wrong +
         graph::detail::first_difference<std::uint32_t>(
             "distance", sssp.distances(), graph::shortest_distances(g, in.weights, source));
}

}  // namespace

TEST_CASE("programs are right that copy the edges of each step, gathered by cores or by kernels") {
  for (const bool uniform : {false, true}) {
    const weighted_graph in{graph::kronecker({.scale = 11, .degree = 6, .uniform = uniform})};
    for (const bool by_cores : {true, false}) {
      for (const std::uint64_t room : {0u, 1000u}) {
        for (const std::uint64_t chunk_edges : {0u, 64u}) {
          CAPTURE(by_cores);
          CAPTURE(room);
          CAPTURE(chunk_edges);
          CHECK(wrong_results(in, by_cores, {room, chunk_edges, 64}) == "");
        }
      }
    }
  }
}

TEST_CASE("vertices that end within a word, and lists longer than what fits at a time") {
  std::vector<graph::edge> edges;
  for (std::uint32_t v = 1; v < 1100; ++v) edges.push_back({0, v});
  edges.push_back({1099, 17});
  const weighted_graph in{graph::build_csr(1100, edges, graph::direction::both)};
  for (const bool by_cores : {true, false}) CHECK(wrong_results(in, by_cores, {100, 64, 64}) == "");
}

// Kernels of the examples on plain pointers, by the host runtime: what comparisons run on.
#include "../../examples/dense/matrix_runner.hpp"
#include "../../examples/graph/balanced_csr.hpp"
#include "../../examples/graph/bfs_search.hpp"
#include "../../examples/graph/cc_search.hpp"
#include "../../examples/graph/kronecker.hpp"
#include "../../examples/graph/program_reference.hpp"
#include "../../examples/support/memory_array.hpp"
#include "../../examples/support/pointer_view.hpp"
#include "../../examples/taxi/query_runner.hpp"
#include "../../examples/taxi/trip_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace {

constexpr std::uint32_t page_elements = 256;
constexpr support::kernel_shape shape{.grid = 2, .block = 64};
using words = support::pointer_view<const std::uint32_t>;
using long_words = support::pointer_view<const std::uint64_t>;
using plain_graph = graph::weighted_view<long_words, words, words>;

template <class T>
support::pointer_view<const T> seen(const std::vector<T>& v) {
  return {v.data(), v.size(), page_elements};
}

/// A graph with weights and chunks, and what kernels see of it.
struct weighted_graph {
  graph::csr g;
  std::vector<std::uint32_t> weights = graph::draw_weights(g);
  graph::balanced_csr chunks = graph::balance(g, 100);

  plain_graph lists() const {
    return {seen(g.offsets), seen(g.neighbours), g.vertices(), seen(weights)};
  }
  graph::balanced_view<plain_graph, words> balanced() const {
    return {lists(), seen(chunks.chunk_vertices), chunks.chunk_edges, g.edges()};
  }
};

const auto nothing = [](const auto&, auto) {};

/// What is wrong with the results of all programs on what kernels see of `in`.
template <class Graph>
std::string wrong_results_on(const weighted_graph& in, const Graph& view) {
  const graph::csr& g = in.g;
  support::on_memory place;
  const std::uint32_t source = graph::pick_source(g, 5);
  graph::bfs_search bfs(place, g.vertices(), shape);
  (void)bfs.search(source, view, nothing);
  std::string wrong = graph::verify_bfs_tree(g, source, bfs.parents());
  graph::cc_search cc(place, g.vertices(), shape);
  (void)cc.search(view, g.directed);
  wrong += graph::detail::first_difference<std::uint32_t>("component", cc.labels(),
                                                          graph::component_labels(g));
  graph::sssp_search sssp(place, g.vertices(), shape);
  (void)sssp.search(source, view, nothing);
  wrong += graph::detail::first_difference<std::uint32_t>(
      "distance", sssp.distances(), graph::shortest_distances(g, in.weights, source));
  graph::pagerank_search pagerank(place, g.vertices(), shape);
  const auto ranked = pagerank.search(view, {.iterations = 3, .tolerance = 0}, nothing);
  CHECK(ranked.counts.failed == 0);
  return wrong + graph::detail::first_difference<std::uint64_t>("rank", pagerank.ranks(),
                                                                graph::ranks_after(g, 3));
}

}  // namespace

TEST_CASE("graph programs on pointers are right on lists and on chunks") {
  for (const bool uniform : {false, true}) {
    const weighted_graph in{graph::kronecker({.scale = 9, .degree = 6, .uniform = uniform})};
    CHECK(wrong_results_on(in, in.lists()) == "");
    CHECK(wrong_results_on(in, in.balanced()) == "");
  }
}

TEST_CASE("weak components and directed searches are right") {
  std::vector<graph::edge> edges;
  for (std::uint32_t v = 0; v < 300; ++v) edges.push_back({(v * 7 + 3) % 1000, v * 3 % 1000});
  const weighted_graph in{graph::build_csr(1000, edges, graph::direction::as_given)};
  CHECK(wrong_results_on(in, in.lists()) == "");
  CHECK(wrong_results_on(in, in.balanced()) == "");
}

TEST_CASE("chunks whose pages are there are visited before any page comes in") {
  constexpr std::uint32_t page_bytes = 512;
  const weighted_graph in{graph::kronecker({.scale = 11, .degree = 8})};
  const graph::balanced_csr chunks = graph::balance(in.g, page_bytes / 4);
  const std::uint64_t pages = chunks.chunks(), half = pages / 2;
  REQUIRE(half >= gnstor::host::min_frames);
  support::memory_array<std::uint32_t> neighbours(
      in.g.edges(), {.frame_bytes = half * page_bytes, .page_bytes = page_bytes});
  neighbours.array().write(0, in.g.edges(), in.g.neighbours.data());
  gnstor::host::executor kernels;
  const auto run = [&](auto f, auto... args) {
    kernels.spawn(1, 64, f, args...);
    kernels.run();
  };
  // Every other page is there.
  run(
      [](auto& lane, auto view, std::uint64_t count) {
        for (std::uint64_t k = 0; lane.global_thread() == 0 && k < count; ++k)
          (void)view.load(2 * k * (page_bytes / 4));
      },
      neighbours.view(), half);

  using view_type = decltype(neighbours.view());
  using lists = graph::csr_view<long_words, view_type>;
  using chunked = graph::balanced_view<lists, words>;
  const chunked g{{seen(in.g.offsets), neighbours.view(), in.g.vertices()},
                  seen(chunks.chunk_vertices),
                  chunks.chunk_edges,
                  in.g.edges()};
  std::vector<std::uint32_t> labels(in.g.vertices());
  std::iota(labels.begin(), labels.end(), 0u);
  const graph::cc_program program{labels.data(), {in.g.vertices()}, true};
  std::vector<std::uint32_t> bits(graph::detail::words_of(pages), 0);
  for (std::uint64_t c = 0; c < pages; ++c) bits[c / 32] |= 1u << c % 32;
  graph::step_counts counts{};
  using visit = graph::chunk_step<chunked, graph::cc_program>;
  run(visit{true}, g, program, &counts, bits.data(), graph::walk_order::forwards);
  CHECK(neighbours.array().counters().pages_in == half);
  CHECK(counts.walked == half * chunks.chunk_edges);
  for (std::uint64_t c = 0; c < pages; ++c)
    REQUIRE((bits[c / 32] >> c % 32 & 1) == (c % 2 != 0 || c >= 2 * half));
  counts.taken = 0;
  run(visit{}, g, program, &counts, bits.data(), graph::walk_order::backwards);
  CHECK(neighbours.array().counters().pages_in == pages);
  CHECK(counts.walked == in.g.edges());
  CHECK(std::all_of(bits.begin(), bits.end(), [](std::uint32_t w) { return w == 0; }));
}

TEST_CASE("a vertex that is none is counted as a failure and not followed") {
  weighted_graph in{graph::kronecker({.scale = 6, .degree = 4})};
  in.g.neighbours[5] = 1u << 30;
  support::on_memory place;
  graph::cc_search cc(place, in.g.vertices(), shape);
  CHECK(cc.search(in.lists(), false).counts.failed == 1);
  CHECK(cc.search(in.balanced(), false).counts.failed == 1);
}

TEST_CASE("products on pointers are exact, also of matrices that end within tiles") {
  constexpr std::uint32_t rows = 37, columns = 700;
  const std::uint32_t tile = dense::tile_of(page_elements);
  const std::uint64_t pitch = dense::pitch_of(columns, tile);
  std::vector<float> a(rows * pitch);
  for (std::uint64_t k = 0; k < a.size(); ++k)
    a[k] = dense::entry_at(k / pitch, static_cast<std::uint32_t>(k % pitch));
  support::on_memory place;
  dense::matrix_runner runner(place, rows, columns, shape);
  for (const char* name : {"mvt", "atax", "bicg"}) {
    const dense::product what = dense::product_named(name);
    (void)runner.run(what, dense::matrix_view<support::pointer_view<const float>>{
                               seen(a), rows, columns, pitch, tile});
    const dense::product_reference right = dense::reference(what, rows, columns);
    CHECK(dense::wrong_results(runner.columns(), right.columns) == 0);
    CHECK(dense::wrong_results(runner.rows(), right.rows) == 0);
    CHECK(runner.failed() == 0);
  }
}

TEST_CASE("a query on pointers finds every long trip, whether they are rare or not") {
  for (const std::uint32_t per_million : {0u, 800u, 400'000u, 1'000'000u}) {
    const taxi::trip_table trips = taxi::draw_trips({.long_per_million = per_million}, 40'000);
    const auto column = [&](std::size_t c) { return seen(trips.columns[c]); };
    support::on_memory place;
    taxi::query_runner runner(place, shape);
    const taxi::query_sums sums = runner.run(
        taxi::trip_columns<words, words>{column(0),
                                         {column(1), column(2), column(3), column(4), column(5)}},
        5);
    const taxi::query_reference right = taxi::sum_long_trips_of(trips);
    CHECK(sums.trips == right.trips);
    for (std::uint32_t k = 0; k < taxi::value_columns; ++k)
      CHECK(sums.values[k] == right.values[k]);
  }
}

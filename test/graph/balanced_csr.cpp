#include "../../examples/graph/balanced_csr.hpp"

#include "../../examples/graph/build_csr.hpp"
#include "../../examples/graph/kronecker.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

/// Whether edge `k` is in the list of `v`.
bool owns(const graph::csr& g, std::uint32_t v, std::uint64_t k) {
  return g.offsets[v] <= k && k < g.offsets[v + 1];
}

}  // namespace

TEST_CASE("each chunk names the vertex of its first edge, and the last one that of the last edge") {
  const graph::csr g = graph::kronecker({.scale = 10, .degree = 8});
  for (const std::uint64_t size : {64u, 100u, 1024u, 1u << 20}) {
    const graph::balanced_csr b = graph::balance(g, size);
    REQUIRE(b.chunks() == (g.edges() + size - 1) / size);
    std::uint64_t wrong = 0;
    for (std::uint64_t c = 0; c < b.chunks(); ++c) wrong += !owns(g, b.chunk_vertices[c], c * size);
    CHECK(wrong == 0);
    CHECK(owns(g, b.chunk_vertices.back(), g.edges() - 1));
  }
}

TEST_CASE("the smallest chunks add less than 3 % to the edges") {
  const graph::csr g = graph::kronecker({.scale = 12, .degree = 8});
  const graph::balanced_csr b = graph::balance(g, graph::least_chunk_edges);
  CHECK(b.chunk_vertices.size() * 4 * 100 < 3 * g.edges() * 4);
  CHECK_THROWS_WITH_AS(graph::balance(g, graph::least_chunk_edges - 1),
                       "chunks of 63 edges; give at least 64", std::invalid_argument);
}

TEST_CASE("a graph without edges has no chunk") {
  const graph::csr g = graph::build_csr(5, {}, graph::direction::both);
  CHECK(graph::balance(g, 64).chunks() == 0);
}

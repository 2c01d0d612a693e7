#include "../../examples/graph/load.hpp"

#include "../../examples/graph/kronecker.hpp"
#include "gap_writer.hpp"
#include "host/temp_folder.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace {

using pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

pairs stored(const graph::csr& g) {
  pairs out;
  for (std::uint32_t u = 0; u < g.vertices(); ++u) {
    for (std::uint32_t v : g.of(u)) out.push_back({u, v});
  }
  return out;
}

void check_same(const graph::csr& a, const graph::csr& b) {
  CHECK(a.directed == b.directed);
  CHECK(a.offsets == b.offsets);
  CHECK(a.neighbours == b.neighbours);
}

}  // namespace

TEST_CASE("a GAP serialized graph comes back as it was written") {
  const gnstor::test::temp_folder folder;
  const graph::csr g = graph::kronecker({.scale = 9, .degree = 6});
  check_same(graph::load(folder.write("g.sg", graph_test::gap_bytes(g, false))), g);
  check_same(graph::load(folder.write("g.wsg", graph_test::gap_bytes(g, true))), g);
}

TEST_CASE("a directed GAP serialized graph keeps its outgoing edges") {
  const gnstor::test::temp_folder folder;
  const std::vector<graph::edge> edges{{0, 1}, {0, 2}, {2, 1}, {3, 0}};
  const graph::csr g = graph::build_csr(4, edges, graph::direction::as_given);
  check_same(graph::load(folder.write("g.sg", graph_test::gap_bytes(g, false))), g);
  check_same(graph::load(folder.write("g.wsg", graph_test::gap_bytes(g, true))), g);
}

TEST_CASE("an edge list is a directed graph of as many vertices as its largest id says") {
  const gnstor::test::temp_folder folder;
  const graph::csr g =
      graph::load(folder.write("g.el", "# a comment\n0 1\n\n2\t0\r\n4 4\n 0 1 \n0 3"));
  CHECK(g.directed);
  CHECK(g.vertices() == 5);
  CHECK(stored(g) == pairs{{0, 1}, {0, 3}, {2, 0}});
}

TEST_CASE("a weighted edge list drops its weights") {
  const gnstor::test::temp_folder folder;
  const graph::csr g = graph::load(folder.write("g.wel", "0 1 5\n1 2 -0.25e3\n"));
  CHECK(stored(g) == pairs{{0, 1}, {1, 2}});
}

TEST_CASE("a symmetric Matrix Market file is an undirected graph") {
  const gnstor::test::temp_folder folder;
  const graph::csr g =
      graph::load(folder.write("g.mtx",
                               "%%MatrixMarket matrix coordinate pattern symmetric\n"
                               "% a comment\n\n3 3 3\n2 1\n3 2\n3 3\n"));
  CHECK_FALSE(g.directed);
  CHECK(g.vertices() == 3);
  CHECK(stored(g) == pairs{{0, 1}, {1, 0}, {1, 2}, {2, 1}});
}

TEST_CASE("a general Matrix Market file is a directed graph, whatever its values are") {
  const gnstor::test::temp_folder folder;
  const graph::csr real = graph::load(folder.write(
      "r.mtx", "%%MatrixMarket MATRIX Coordinate real general\n4 4 2\n1 4 -1.5\n2 1 +2e400\n"));
  CHECK(real.directed);
  CHECK(real.vertices() == 4);
  CHECK(stored(real) == pairs{{0, 3}, {1, 0}});
  const graph::csr integer = graph::load(
      folder.write("i.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 7\n"));
  CHECK(stored(integer) == pairs{{0, 1}});
}

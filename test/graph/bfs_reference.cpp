#include "../../examples/graph/bfs_reference.hpp"

#include "../../examples/graph/build_csr.hpp"
#include "../../examples/graph/kronecker.hpp"

#include <doctest/doctest.h>

namespace {

using ids = std::vector<std::uint32_t>;
constexpr std::uint32_t none = graph::unreached;

/// 0 - 1 - 3 - 4, 0 - 2 - 3, and 5 - 6 apart.
graph::csr sample() {
  const std::vector<graph::edge> edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {5, 6}};
  return graph::build_csr(7, edges, graph::direction::both);
}

std::string verdict(const ids& parents) { return graph::verify_bfs_tree(sample(), 0, parents); }

}  // namespace

TEST_CASE("depths count the edges of a shortest path") {
  CHECK(graph::bfs_depths(sample(), 0) == ids{0, 1, 1, 2, 3, none, none});
  CHECK(graph::bfs_depths(sample(), 6) == ids{none, none, none, none, none, 1, 0});
  CHECK_THROWS_WITH_AS(graph::bfs_depths(sample(), 7),
                       "source vertex 7 is not in a graph of 7 vertices", std::out_of_range);
}

TEST_CASE("both right trees of a graph with two shortest paths pass") {
  CHECK(verdict({0, 0, 0, 1, 3, none, none}) == "");
  CHECK(verdict({0, 0, 0, 2, 3, none, none}) == "");
}

TEST_CASE("every kind of wrong tree is refused with its vertex") {
  CHECK(verdict({0, 0, 0, 1, 3, none}) == "6 parents for 7 vertices");
  CHECK(verdict({1, 0, 0, 1, 3, none, none}) == "the source, vertex 0, is not its own parent");
  CHECK(verdict({none, 0, 0, 1, 3, none, none}) == "the source, vertex 0, is not its own parent");
  CHECK(verdict({0, 0, 0, 1, none, none, none}) ==
        "vertex 4 is missing: it can be reached at depth 3");
  CHECK(verdict({0, 0, 0, 1, 3, 6, 5}) == "vertex 5 has a parent, but no path reaches it");
  CHECK(verdict({0, 0, 0, 1, 3, 5, none}) == "vertex 5 has a parent, but no path reaches it");
  CHECK(verdict({0, 0, 0, 0, 3, none, none}) == "vertex 3 has no edge from its parent 0");
  CHECK(verdict({0, 0, 0, 1, 9, none, none}) == "vertex 4 has parent 9, which is no vertex");
  CHECK(verdict({0, 3, 0, 1, 3, none, none}) ==
        "vertex 1 at depth 1 has parent 3 at depth 2");  // a cycle
  CHECK(verdict({0, 0, 0, 4, 3, none, none}) == "vertex 3 at depth 2 has parent 4 at depth 3");
  CHECK(verdict({0, 0, 0, 1, 4, none, none}) ==
        "vertex 4 has no edge from its parent 4");  // its own
}

TEST_CASE("a directed tree needs the edge in its own direction") {
  const std::vector<graph::edge> edges{{0, 1}, {1, 2}, {2, 0}};
  const graph::csr g = graph::build_csr(3, edges, graph::direction::as_given);
  CHECK(graph::verify_bfs_tree(g, 0, ids{0, 0, 1}) == "");
  CHECK(graph::verify_bfs_tree(g, 0, ids{0, 0, 0}) == "vertex 2 has no edge from its parent 0");
}

TEST_CASE("wrong depths are refused with the right one") {
  const graph::csr g = sample();
  CHECK(graph::verify_bfs_depths(g, 0, ids{0, 1, 1, 2, 3, none, none}) == "");
  CHECK(graph::verify_bfs_depths(g, 0, ids{0, 1, 1, 2, 4, none, none}) ==
        "vertex 4 has depth 4, right is 3");
  CHECK(graph::verify_bfs_depths(g, 0, ids{0, 1, 1, 2, 3, 1, none}) ==
        "vertex 5 has depth 1, right is unreached");
  CHECK(graph::verify_bfs_depths(g, 0, ids{0, 1}) == "2 depths for 7 vertices");
}

TEST_CASE(
    "the tree of a plain search passes on a Kronecker graph, and no vertex of it may change") {
  const graph::csr g = graph::kronecker({.scale = 8, .degree = 4});
  const std::uint32_t source = graph::pick_source(g, 1);
  const ids depths = graph::bfs_depths(g, source);
  ids parents(g.vertices(), none);
  parents[source] = source;
  for (std::uint32_t u = 0; u < g.vertices(); ++u) {
    if (depths[u] == none) continue;
    for (std::uint32_t v : g.of(u)) {
      if (depths[v] == depths[u] + 1) parents[v] = u;
    }
  }
  REQUIRE(graph::verify_bfs_tree(g, source, parents) == "");
  std::uint32_t passed = 0;
  for (std::uint32_t v = 0; v < g.vertices(); ++v) {
    ids wrong = parents;
    wrong[v] = wrong[v] == none ? source : none;
    passed += graph::verify_bfs_tree(g, source, wrong).empty();
  }
  CHECK(passed == 0);
}

TEST_CASE("a source is never an isolated vertex where there are others") {
  const graph::csr g = graph::kronecker({.scale = 6, .degree = 1});
  for (std::uint64_t seed = 0; seed < 100; ++seed) CHECK(g.degree(graph::pick_source(g, seed)) > 0);
  const graph::csr empty = graph::build_csr(3, {}, graph::direction::both);
  for (std::uint64_t seed = 0; seed < 100; ++seed) CHECK(graph::pick_source(empty, seed) < 3);
}

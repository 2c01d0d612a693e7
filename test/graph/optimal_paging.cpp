/// The optimum that benchmarks of paged programs are compared with, and the traces it is found for.
#include "../../benchmark/support/optimal_paging.hpp"

#include "../../benchmark/support/traced_view.hpp"
#include "../../examples/graph/balanced_csr.hpp"
#include "../../examples/graph/bfs_search.hpp"
#include "../../examples/graph/cc_search.hpp"
#include "../../examples/graph/kronecker.hpp"
#include "../../examples/support/memory_array.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

using namespace gnstor;
using benchmarks::optimal_fetches;

namespace {

using trace = std::vector<std::uint32_t>;

/// The fewest fetches of all that policies can do: tries every page to evict.
std::uint64_t fewest_of_all(const trace& t, std::size_t frames) {
  std::map<std::set<std::uint32_t>, std::uint64_t> states{{{}, 0}};
  for (const std::uint32_t page : t) {
    std::map<std::set<std::uint32_t>, std::uint64_t> after;
    const auto reach = [&](const std::set<std::uint32_t>& held, std::uint64_t fetches) {
      const auto [at, is_new] = after.try_emplace(held, fetches);
      if (!is_new) at->second = std::min(at->second, fetches);
    };
    for (const auto& [held, fetches] : states) {
      if (held.contains(page)) {
        reach(held, fetches);
        continue;
      }
      auto grown = held;
      grown.insert(page);
      if (grown.size() <= frames) {
        reach(grown, fetches + 1);
        continue;
      }
      for (const std::uint32_t victim : held) {
        auto left = grown;
        left.erase(victim);
        reach(left, fetches + 1);
      }
    }
    states = std::move(after);
  }
  std::uint64_t fewest = ~std::uint64_t{0};
  for (const auto& [held, fetches] : states) fewest = std::min(fewest, fetches);
  return fewest;
}

/// Passes over pages 0 to `pages` - 1, each in the order of the one before or against it.
trace passes_over(std::uint32_t pages, int passes, bool alternate) {
  trace all;
  for (int k = 0; k < passes; ++k) {
    trace pass(pages);
    std::iota(pass.begin(), pass.end(), 0u);
    if (alternate && k % 2 != 0) std::reverse(pass.begin(), pass.end());
    all.insert(all.end(), pass.begin(), pass.end());
  }
  return all;
}

}  // namespace

TEST_CASE("the optimum of sequences that are known") {
  CHECK(optimal_fetches({}, 3, 1) == 0);
  CHECK(optimal_fetches(trace{2, 2, 2}, 3, 1) == 1);
  CHECK(optimal_fetches(trace{0, 1, 0, 1}, 2, 1) == 4);
  // Belady's own sequence, of FIFO's anomaly.
  const trace belady{1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5};
  CHECK(optimal_fetches(belady, 6, 3) == 7);
  CHECK(optimal_fetches(belady, 6, 4) == 6);
  CHECK(optimal_fetches(belady, 6, 5) == 5);
  // The sequence of textbooks.
  CHECK(optimal_fetches(trace{7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1}, 8, 3) ==
        9);
}

TEST_CASE("passes in either order need a pass less the frames, but for the first") {
  CHECK(optimal_fetches(passes_over(100, 5, true), 100, 25) == 100 + 4 * 75);
  CHECK(optimal_fetches(passes_over(100, 5, false), 100, 25) == 400);
  CHECK(optimal_fetches(passes_over(100, 5, false), 100, 100) == 100);
  CHECK(optimal_fetches(passes_over(100, 5, false), 100, 1) == 500);
}

TEST_CASE("no policy fetches fewer pages than the optimum, and one as few") {
  graph::detail::random_stream draw(17);
  for (int k = 0; k < 200; ++k) {
    trace t(24);
    for (auto& page : t) page = static_cast<std::uint32_t>(draw() % 7);
    for (const std::size_t frames : {1u, 2u, 3u, 5u, 7u}) {
      CAPTURE(k);
      CAPTURE(frames);
      REQUIRE(optimal_fetches(t, 7, frames) == fewest_of_all(t, frames));
    }
  }
}

TEST_CASE("a trace notes every page that kernels touch, and again after others") {
  std::vector<std::uint32_t> data(1000), noted(16), pages(64);
  std::uint32_t count = 0;
  const benchmarks::traced_view<const std::uint32_t> view(
      {data.data(), data.size(), 64}, {noted.data(), pages.data(), &count, 64, 3});
  const auto touched = [&](std::initializer_list<std::uint64_t> indices) {
    for (const std::uint64_t i : indices) (void)view.load(i);
    return trace(pages.begin(), pages.begin() + count);
  };
  CHECK(touched({0, 63, 64, 5}) == trace{0, 1});  // 0 is among the last three
  CHECK(touched({999, 128, 1}) == trace{0, 1, 15, 2, 0});
  CHECK(touched({1000, 5000}) == trace{0, 1, 15, 2, 0});  // there are no such elements
}

TEST_CASE("the trace of a search holds the pages of all edges that it walks, and what fits") {
  const graph::csr g = graph::kronecker({.scale = 9, .degree = 6});
  constexpr std::uint32_t page_elements = 64;
  const auto pages = static_cast<std::uint32_t>(g.edges() / page_elements + 1);
  for (const std::uint32_t room : {100'000u, 5u}) {
    std::vector<std::uint32_t> noted(pages), touches(room);
    std::uint32_t count = 0;
    using offsets_view = support::pointer_view<const std::uint64_t>;
    using words = benchmarks::traced_view<const std::uint32_t>;
    const graph::csr_view<offsets_view, words> view{
        {g.offsets.data(), g.offsets.size(), page_elements},
        words({g.neighbours.data(), g.edges(), page_elements},
              {noted.data(), touches.data(), &count, room}),
        g.vertices()};
    support::on_memory place;
    graph::bfs_search bfs(place, g.vertices(), {.grid = 2, .block = 64});
    const std::uint32_t source = graph::pick_source(g, 5);
    const auto out = bfs.search(source, view, [](const auto&, auto) {});
    CHECK(graph::verify_bfs_tree(g, source, bfs.parents()) == "");
    REQUIRE(count > 5);  // also where there is no room: so one sees that the trace is cut
    if (room == 5u) continue;
    // A page is needed once at least, and once a step at most; all that was reached was walked.
    touches.resize(count);
    const auto parents = bfs.parents();
    std::set<std::uint32_t> needed;
    for (std::uint32_t v = 0; v < g.vertices(); ++v) {
      if (parents[v] == graph::unreached) continue;
      for (std::uint64_t k = g.offsets[v]; k < g.offsets[v + 1]; ++k)
        needed.insert(static_cast<std::uint32_t>(k / page_elements));
    }
    CHECK(std::set(touches.begin(), touches.end()) == needed);
    CHECK(optimal_fetches(touches, pages, pages) == needed.size());
    const std::uint64_t few = optimal_fetches(touches, pages, needed.size() / 4);
    CHECK(few > needed.size());
    CHECK(few <= out.steps * needed.size());
  }
}

TEST_CASE("a step goes against the order of the one before, on lists and on chunks") {
  const graph::csr g = graph::kronecker({.scale = 11, .degree = 8});
  constexpr std::uint32_t page_elements = 64;
  const auto pages = static_cast<std::uint32_t>((g.edges() + page_elements - 1) / page_elements);
  const graph::balanced_csr chunks = graph::balance(g, page_elements);
  using offsets_view = support::pointer_view<const std::uint64_t>;
  using words = support::pointer_view<const std::uint32_t>;
  using traced = benchmarks::traced_view<const std::uint32_t>;
  for (const bool balanced : {false, true}) {
    CAPTURE(balanced);
    std::vector<std::uint32_t> noted(pages), touches(100'000);
    std::uint32_t count = 0;
    const graph::csr_view<offsets_view, traced> lists{
        {g.offsets.data(), g.offsets.size(), page_elements},
        traced({g.neighbours.data(), g.edges(), page_elements},
               {noted.data(), touches.data(), &count, 100'000}),
        g.vertices()};
    const graph::balanced_view<std::decay_t<decltype(lists)>, words> chunked{
        lists, words(chunks.chunk_vertices.data(), chunks.chunk_vertices.size(), 64),
        chunks.chunk_edges, g.edges()};
    support::on_memory place;
    graph::cc_search cc(place, g.vertices(), {.grid = 1, .block = 32});
    for (int k = 0; k < 2; ++k)
      (void)(balanced ? cc.search(chunked, false) : cc.search(lists, false));
    touches.resize(count);
    // A pass takes every page, and the second one ends where the first began.
    REQUIRE(count >= 2 * pages - 32);
    CHECK(touches.front() == 0);
    CHECK(touches.back() < 16);
    // With half the frames, FIFO would fetch each page twice if passes had one order.
    std::uint64_t fetched = 0;
    std::vector<std::uint32_t> queue;
    for (const std::uint32_t page : touches) {
      if (std::find(queue.begin(), queue.end(), page) != queue.end()) continue;
      ++fetched;
      if (queue.size() == pages / 2) queue.erase(queue.begin());
      queue.push_back(page);
    }
    CHECK(fetched < pages + pages / 2 + pages / 10);
  }
}

/// A page held by a guard: for as long as its scope, no longer, and only if it is held.
#include "lambda_kernel.hpp"
#include "rig.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace gnstor;
using namespace gnstor::test;
namespace host = simt::host;

namespace {

using words = rig<std::uint64_t, false>;
using words_view = words::view_type;
using guard = page_guard<std::uint64_t, words_view, simt::group>;
static_assert(!std::is_copy_constructible_v<guard> && !std::is_move_constructible_v<guard>);
static_assert(std::is_same_v<decltype(std::declval<guard>()[0]), std::uint64_t&>);

/// Runs `body(lane, view)` as every lane of one block; what that threw, or nothing.
template <class Body>
std::string run(words& r, std::uint32_t lanes, Body body, host::mode how = host::mode::seeded) {
  return r.run({.run = how, .seed = 1}, 1, lanes, lambda_kernel<Body>{body}, r.view());
}

}  // namespace

TEST_CASE("a guard holds its page until its scope ends") {
  words r(rig_shape{.frames = 2});
  const std::string thrown = run(r, 1, [&](auto&, const auto& view) {
    const auto g = simt::group::self();
    {
      const auto page = view.writable_page(g, 5);
      REQUIRE(page);
      CHECK(page.outcome() == status{});
      CHECK(page.first() == 0);
      CHECK(page.count() == 8);
      CHECK(page.holds(7));
      CHECK(!page.holds(8));
      page[5] = 55;
      CHECK(view.flush(page_index(0)).code == status_code::would_block);
      for (std::uint64_t other = 1; other < 12; ++other) CHECK(view.load(8 * other).status.ok());
      CHECK(page[5] == 55);
    }
    CHECK(view.flush(page_index(0)).ok());
  });
  CHECK(thrown == "");
  r.expected[5] = 55;
  CHECK(r.saw.stores == 1);
  CHECK(r.flushed() == "");
  CHECK(r.quiet() == "");
}

TEST_CASE("a page held for reading stays clean") {
  words r(rig_shape{});
  r.content[3] = 33;
  const std::string thrown = run(r, 1, [&](auto&, const auto& view) {
    const auto page = view.page(simt::group::self(), 3);
    static_assert(std::is_same_v<decltype(page[0]), const std::uint64_t&>);
    REQUIRE(page);
    CHECK(page[3] == 33);
  });
  CHECK(thrown == "");
  CHECK(!r.word(0).is(page_word::dirty));
  CHECK(r.quiet() == "");
}

TEST_CASE("a guard without a page says why, holds no element, and lets nothing go") {
  words r(rig_shape{}, 93);
  r.plan[3] = disk_plan::fetch_fails;
  const std::string thrown = run(r, 1, [&](auto&, const auto& view) {
    const auto g = simt::group::self();
    const auto other = view.page(g, 0);
    REQUIRE(other);
    for (int turn = 0; turn < 2; ++turn) {
      const auto beyond = view.page(g, 93);
      CHECK(!beyond);
      CHECK(beyond.outcome().code == status_code::out_of_range);
      CHECK(!beyond.holds(93));
      CHECK(!beyond.holds(0));
      const auto failed = view.writable_page(g, 24);
      CHECK(!failed);
      CHECK(failed.outcome() == fake_store<false>::media_error(page_index(3)));
      CHECK(!failed.holds(24));
    }
    CHECK(view.cache().pin(simt::group::self(), page_index(0), page_use::read,
                           simt::within(100'000)));
    view.cache().unpin(page_index(0));
  });
  CHECK(thrown == "");
  CHECK(r.quiet() == "");
}

TEST_CASE("a warp that holds pages in turn reads them all, and the frame goes when all are done") {
  for (const host::mode how : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    words r(rig_shape{.frames = 1});
    for (std::uint64_t k = 0; k < r.content.size(); ++k) r.content[k] = r.expected[k] = 3 * k + 1;
    std::uint32_t wrong = 0;
    const std::string thrown = run(
        r, 32,
        [&](auto& lane, const auto& view) {
          const simt::group g = lane.warp();
          for (std::uint64_t i = 0; i < view.size(); i += view.elements_per_page()) {
            const auto page = view.writable_page(g, i);
            // Half the lanes come late: the page is still there.
            for (std::uint32_t k = 0; k < lane.thread() % 2 * 20; ++k) lane.pause();
            const std::uint64_t mine = i + lane.thread() % view.elements_per_page();
            if (!page.holds(mine) || page[mine] != r.expected[mine]) disk::add(wrong, 1);
            g.sync();
            if (lane.thread() < view.elements_per_page()) page[mine] = ++r.expected[mine];
          }
        },
        how);
    CHECK(thrown == "");
    CHECK(wrong == 0);
    CHECK(r.quiet() == "");
    CHECK(run(r, 1, [](auto&, const auto& view) { CHECK(view.flush(page_index(11)).ok()); }) == "");
    CHECK(r.flushed() == "");
  }
}

TEST_CASE("an exception that ends a lane with a page in hand is reported as it was thrown") {
  words r(rig_shape{});
  const std::string thrown = run(r, 32, [&](auto& lane, const auto& view) {
    const simt::group g = lane.warp();
    const auto page = view.page(g, 0);
    if (lane.thread() == 5) throw std::runtime_error("lane 5 has had enough");
    CHECK(g.all(page ? 1 : 0));
  });
  CHECK(thrown == "lane 5 has had enough");
}

TEST_CASE("a warp that misses a long page fetches it by all of its lanes, held or not") {
  for (const host::mode how : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    for (const bool holds : {true, false}) {
      rig<std::uint64_t, true, long_store> r(rig_shape{.frames = 2, .page_words = 64});
      for (std::uint64_t k = 0; k < r.content.size(); ++k) r.content[k] = r.expected[k] = 7 * k;
      r.plan[3] = disk_plan::fetch_fails;
      std::uint32_t wrong = 0;
      const auto body = [&](auto& lane, const auto& view) {
        const auto g = lane.warp();
        const std::uint64_t i = 64 * 2 + g.thread_rank();
        std::uint64_t got = 0;
        if (holds) {
          const auto page = view.page(g, 64 * 2);
          got = page ? page[i] : 0;
        } else {
          got = view[i];
        }
        const std::uint32_t bad = got == 7 * i ? 0 : 1;
        device_word<std::uint32_t>(wrong).fetch_add(bad, relaxed);
        g.sync();
        const status failed = view.load(64 * 3 + g.thread_rank()).status;
        if (!(failed == long_store::media_error(page_index(3))))
          device_word<std::uint32_t>(wrong).fetch_add(1, relaxed);
      };
      CHECK(r.run({.run = how, .seed = 1}, 1, 32, lambda_kernel<decltype(body)>{body}, r.view()) ==
            "");
      CHECK(wrong == 0);
      // Lanes that run together here by chance alone are as many as they are.
      if (holds) CHECK(r.saw.most_lanes == 32);
      CHECK(r.saw.fetches == 2);
      CHECK(r.quiet() == "");
    }
  }
}

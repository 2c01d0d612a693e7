/// What an array counts of its pages, and how the host takes them out of their frames.
#include "lambda_kernel.hpp"
#include "mapped_rig.hpp"
#include "rig.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;
namespace host = simt::host;

namespace {

using words = rig<std::uint64_t, false>;
using mapped_words = mapped_rig<std::uint64_t>;

/// Runs `body(lane, view)` as every lane of `blocks` blocks.
template <class Rig, class Body>
void run(Rig& r, std::uint32_t blocks, std::uint32_t lanes, Body body, std::uint64_t seed = 1) {
  const host::options seeded{.run = host::mode::seeded, .seed = seed};
  REQUIRE(r.run(seeded, blocks, lanes, lambda_kernel<Body>{body}, r.view()) == "");
}
template <class Rig, class Body>
void run_alone(Rig& r, Body body) {
  run(r, 1, 1, [&](auto&, const auto& view) { body(view); });
}

/// Touches 12 pages `rounds` times with frames for `frames`, one lane.
template <class Rig>
page_cache_counters walked_by(Rig& r, std::uint32_t rounds) {
  run_alone(r, [&](const auto& view) {
    for (std::uint32_t k = 0; k < rounds; ++k) {
      for (std::uint64_t i = 0; i < view.size(); i += 8) CHECK(view.load(i).status.ok());
    }
  });
  CHECK(r.quiet() == "");
  return r.counters();
}

template <class Rig>
void overwrite_two(Rig& r) {
  run(r, 1, 8, [&](auto& lane, const auto& view) {
    for (std::uint64_t i = 0; i < 16; i += 8) {
      const auto page = view.overwritten_page(lane.warp(), i);
      REQUIRE(page);
      page[i + lane.thread()] = 3;
    }
    (void)view.load(20);
  });
  CHECK(r.counters().pages_in == 3);
  CHECK(r.counters().overwritten == 2);
}

/// Pages that may be dropped, and what a lane finds there afterwards.
template <class Rig, class Change>
void drop_pages(Rig& r, const Change& change) {
  run_alone(r, [&](const auto& view) {
    const auto& pages = view.cache();
    CHECK(view.load(3).value == 0);
    change(3, 33);
    CHECK(view.load(3).value == 0);
    CHECK(pages.drop(page_index(0)).ok());
    CHECK(pages.drop(page_index(0)).ok());
    CHECK(pages.drop(page_index(1)).ok());
    CHECK(view.load(3).value == 33);
    view[3] = 34u;
    CHECK(pages.drop(page_index(0)).code == status_code::would_block);
    CHECK(pages.unused(page_index(0)).ok());
    CHECK(view.load(3).value == 34);
    CHECK(view.flush(page_index(0)).ok());
    const auto g = simt::group::self();
    const auto held = view.acquire_page(g, 0);
    REQUIRE(held);
    CHECK(pages.unused(page_index(0)).code == status_code::would_block);
    CHECK(pages.drop(page_index(0)).code == status_code::would_block);
    view.release_page(g, held.value);
    CHECK(pages.drop(page_index(0)).ok());
  });
  r.expected[3] = 34;
  CHECK(r.counters().dropped == 2);
  CHECK(r.counters().evictions == 2);
  CHECK(r.quiet() == "");
  CHECK(r.flushed() == "");
  const page_cache_counters all = walked_by(r, 1);  // frames that dropped pages had hold others
  CHECK(all.evictions == 2 + 12 - 2);
}

}  // namespace

TEST_CASE("pages that come back are counted as refetches, and those that come once are not") {
  for (const std::uint32_t frames : {2u, 12u}) {
    words r({.frames = frames});
    mapped_words m({.frames = frames}, 96);
    for (const page_cache_counters& c : {walked_by(r, 1), walked_by(m, 1)}) {
      CHECK(c.pages_in == 12);
      CHECK(c.refetches == 0);
    }
    for (const page_cache_counters& c : {walked_by(r, 2), walked_by(m, 2)}) {
      CHECK(c.pages_in == (frames == 2 ? 36 : 12));
      CHECK(c.refetches == (frames == 2 ? 24 : 0));
    }
  }
}

TEST_CASE("pages begun without being fetched are counted") {
  words r(rig_shape{});
  overwrite_two(r);
  mapped_words m(rig_shape{}, 96);
  overwrite_two(m);
}

TEST_CASE("a group that waits for a page on its way is counted once, and who fetches it is not") {
  constexpr std::uint64_t most = 4 * 4 - 1;  // lanes may come one by one
  std::uint64_t waits = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    words r({.delay = 20});
    run(
        r, 4, 4, [](auto&, const auto& view) { CHECK(view.load(9).status.ok()); }, seed);
    CHECK(r.counters().pages_in == 1);
    CHECK(r.counters().waits <= most);
    waits += r.counters().waits;
  }
  CHECK(waits > 20);
  waits = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    mapped_words m(rig_shape{}, 96);
    run(
        m, 4, 4, [](auto&, const auto& view) { CHECK(view.load(9).status.ok()); }, seed);
    CHECK(m.counters().pages_in == 1);
    CHECK(m.counters().waits <= most);
    waits += m.counters().waits;
  }
  CHECK(waits > 0);
  words lone({.frames = 2});
  CHECK(walked_by(lone, 3).waits == 0);
}

TEST_CASE("a clean page that is dropped is fetched anew; one that is dirty or held stays") {
  words r({.frames = 2});
  drop_pages(r, [&](std::size_t i, std::uint64_t x) { r.content[i] = x; });
  mapped_words m({.frames = 2}, 96);
  drop_pages(m, [&](std::size_t i, std::uint64_t x) { m.content()[i] = x; });
}

TEST_CASE(
    "a frame that a write-back given up may still read is lost with the page that is dropped") {
  words r({.frames = 3, .timeout_ns = 200'000});
  r.plan[0] = disk_plan::store_hangs;
  run_alone(r, [&](const auto& view) {
    view[1] = 11u;
    CHECK(view.flush(page_index(0)).code == status_code::timed_out);
    r.plan[0] = 0;
    CHECK(view.flush(page_index(0)).ok());
    CHECK(view.cache().drop(page_index(0)).ok());
    for (std::uint64_t page = 0; page < 12; ++page) CHECK(view.load(8 * page).status.ok());
    CHECK(view.load(1).value == 11);
  });
  r.expected[1] = 11;
  CHECK(r.counters().lost_frames == 1);
  CHECK(r.quiet() == "");
  CHECK(r.flushed() == "");
}

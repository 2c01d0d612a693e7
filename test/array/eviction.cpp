/// Which page gives up its frame, and pages that are written back ahead of that.
#include "alone.hpp"
#include "mapped_rig.hpp"
#include "pager_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "rig.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using words = rig<std::uint64_t, false>;
using memory_words = mapped_rig<std::uint64_t>;

/// Pages that came in while one page was read between any two of many others.
template <class Rig>
std::uint64_t pages_in_beside_a_hot_one(eviction how) {
  Rig r(rig_shape{.pages = 64, .frames = 16, .how = how}, 8 * 64);
  alone(r, [](const auto& view) {
    for (std::uint64_t k = 0; k < 10 * 63; ++k) {
      CHECK(view.load(8 * (1 + k % 63)).status.ok());
      CHECK(view.load(0).status.ok());
    }
  });
  return r.counters().pages_in;
}

/// Pages that came in while all were read in order, `rounds` times.
template <class Rig>
std::uint64_t pages_in_of_scans(eviction how, std::uint32_t pages, std::uint32_t frames,
                                std::uint32_t rounds) {
  Rig r(rig_shape{.pages = pages, .frames = frames, .how = how}, 8ull * pages);
  alone(r, [=](const auto& view) {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (std::uint64_t p = 0; p < pages; ++p) CHECK(view.load(8 * p).status.ok());
    }
  });
  return r.counters().pages_in;
}

/// A page cache as a lane of the warp `g` would use it.
template <class Rig>
auto pages_of(Rig& r) {
  return r.view().cache();
}

}  // namespace

TEST_CASE_TEMPLATE("a clock spares a page that is read all the time", Rig, words, memory_words) {
  const std::uint64_t others = 10 * 63;
  // The first in goes first: one page in 16 that come in is the one that is read all the time.
  CHECK(pages_in_beside_a_hot_one<Rig>(eviction::fifo) >= others + others / 16);
  CHECK(pages_in_beside_a_hot_one<Rig>(eviction::clock) <= others + 2);
  CHECK(pages_in_beside_a_hot_one<Rig>(eviction::resist_scans) <= others + 2);
}

TEST_CASE_TEMPLATE("resisting scans, most frames keep their pages from scan to scan", Rig, words,
                   memory_words) {
  // 32 frames take what comes in, 96 keep their pages.
  CHECK(pages_in_of_scans<Rig>(eviction::fifo, 160, 128, 6) == 6 * 160);
  CHECK(pages_in_of_scans<Rig>(eviction::clock, 160, 128, 6) == 6 * 160);
  const std::uint64_t kept = pages_in_of_scans<Rig>(eviction::resist_scans, 160, 128, 6);
  CHECK(kept <= 160 + 5 * 70);
  CHECK(kept >= 160 + 5 * 32);  // the best that any rule can do
  // Four times the frames.
  CHECK(pages_in_of_scans<Rig>(eviction::resist_scans, 512, 128, 6) <= 512 + 5 * 440);
}

TEST_CASE("frames that keep their pages take others when those are no longer read") {
  words r(rig_shape{.pages = 400, .frames = 128, .how = eviction::resist_scans}, 8 * 400);
  std::uint64_t settled = 0;
  alone(r, [&](const auto& view) {
    for (std::uint64_t p = 0; p < 200; ++p) CHECK(view.load(8 * p).status.ok());
    // From now on 100 others alone, which would fit.
    for (int round = 0; round < 60; ++round) {
      if (round == 55) settled = r.counters().pages_in;
      for (std::uint64_t p = 300; p < 400; ++p) CHECK(view.load(8 * p).status.ok());
    }
  });
  CHECK(r.counters().pages_in - settled <= 5 * 10);
}

TEST_CASE_TEMPLATE("pages ahead of the hand are written back, and stay", Rig, words, memory_words) {
  Rig r(rig_shape{.pages = 64, .frames = 32}, 8 * 64);
  alone(r, [&r](const auto& view) {
    // The hand has gone round once: frame k holds page k, all dirty.
    for (std::uint64_t p = 0; p < 32; ++p) CHECK(view.store(8 * p, 100 + p).ok());
    const auto pages = pages_of(r);
    const auto g = simt::group::self();
    std::uint32_t batches = 0;
    for (std::uint32_t k = 0; k < 100; ++k)
      batches += pages.clean_ahead(g, deadline::never()) ? 1 : 0;
    CHECK(batches >= 1);
  });
  const std::uint64_t cleaned = r.counters().pages_out;
  CHECK(cleaned >= 1);
  CHECK(cleaned <= 4);  // an eighth of the frames
  CHECK(r.counters().evictions == 0);
  for (std::uint32_t p = 0; p < 32; ++p) {
    CAPTURE(p);
    CHECK(r.word(p).usable());
    CHECK(r.word(p).is(page_word::dirty) == (p >= cleaned));
  }
  // Who takes these frames has nothing to write.
  alone(r, [cleaned](const auto& view) {
    for (std::uint64_t p = 0; p < cleaned; ++p) CHECK(view.load(8 * (40 + p)).status.ok());
  });
  CHECK(r.counters().pages_out == cleaned);
  CHECK(r.counters().evictions == cleaned);
  alone(r, [](const auto& view) {
    for (std::uint64_t p = 0; p < 32; ++p) CHECK(view.load(8 * p).value == 100 + p);
  });
}

TEST_CASE_TEMPLATE("cleaners of a pager write pages back while others fetch", Rig, words,
                   memory_words) {
  rig_shape shape{.pages = 96, .frames = 48};
  Rig r(shape, 8 * 96);
  pager_rig<std::uint64_t, Rig> p(r, shape, 1, 1);
  const lambda_kernel kernel{[](auto&, const auto& view) {
    for (std::uint64_t k = 0; k < 96; ++k) {
      CHECK(view.store(8 * k, 7 * k + 1).ok());
      for (int pause = 0; pause < 20; ++pause) simt::pause();
    }
  }};
  host::options chosen{.run = host::mode::seeded, .seed = 3};
  chosen.step_budget = 100'000'000;
  CHECK(p.run(chosen, 1, 1, kernel, p.view()) == "");
  CHECK(r.quiet() == "");
  const page_cache_counters c = r.counters();
  CHECK(c.evictions == 96 - 48);
  // More pages went out than frames were taken: some were written ahead of it.
  CHECK(c.pages_out > c.evictions);
  alone(r, [](const auto& view) {
    for (std::uint64_t k = 0; k < 96; ++k) CHECK(view.load(8 * k).value == 7 * k + 1);
  });
}

TEST_CASE("a page that could not be written back is tried again by a flush, not by every round") {
  words r(rig_shape{.frames = 2});
  r.plan[0] = disk_plan::store_fails;
  alone(r, [](const auto& view) {
    view[3] = 77;
    for (std::uint64_t k = 0; k < 60; ++k) CHECK(view.load(8 * (1 + k % 11)).status.ok());
  });
  CHECK(r.saw.stores == 1);
  CHECK(r.word(0).is(page_word::write_failed));
  alone(r, [&r](const auto& view) {
    for (int k = 0; k < 10; ++k)
      (void)pages_of(r).clean_ahead(simt::group::self(), deadline::never());
    CHECK(view.flush(page_index(0)) == fake_store<false>::media_error(page_index(0)));
  });
  CHECK(r.saw.stores == 2);
  CHECK(r.word(0).is(page_word::write_failed));
  SUBCASE("flushed") {
    r.plan[0] = 0;
    alone(r, [](const auto& view) { CHECK(view.flush(page_index(0)).ok()); });
    CHECK(!r.word(0).is(page_word::write_failed));
    CHECK(!r.word(0).is(page_word::dirty));
  }
  SUBCASE("forgiven") {
    r.plan[0] = 0;
    alone(r, [&r](const auto& view) {
      pages_of(r).forgive(page_index(0));
      for (std::uint64_t k = 1; k < 12; ++k) CHECK(view.load(8 * k).status.ok());
      CHECK(view.load(3).value == 77);
    });
    CHECK(r.saw.stores == 3);
  }
}

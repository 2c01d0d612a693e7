/// Several pages held at once: all, or none. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as
/// `qp/seed_sweep.hpp` says.
// label: thorough
#include "lambda_kernel.hpp"
#include "pager_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "verdict.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t share = 150;

using words = std::uint64_t;
using on_disk = rig<words, true>;
using on_memory = mapped_rig<words>;
using on_chunks = mapped_rig<words, small_chunks>;

disk watch(on_disk& r) { return r.disk_ref(); }
template <class Store>
disk watch(mapped_rig<words, Store>& r) {
  return r.watch();
}

/// As many frames as two warps want at once, or fewer.
rig_shape shape_of(std::uint64_t seed) {
  return {.frames = seed % 2 == 0 ? 6u : 3 + static_cast<std::uint32_t>(seed / 2 % 3),
          .delay = static_cast<std::uint32_t>(seed % 3)};
}

template <class Rig>
std::string verdict(Rig& r, const std::string& thrown, std::uint32_t refused,
                    host::options chosen) {
  const bool enough = shape_of(chosen.seed).frames >= 6;
  if (thrown.empty() && refused != 0 && enough) return "pages could not be had together";
  return gnstor::test::verdict(r, thrown, chosen);
}

template <class Rig>
std::string sets_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  Rig r(shape, 8 * shape.pages - 3);
  chosen.step_budget *= 10;
  std::uint32_t refused = 0;
  const words_of_three kernel{.rounds = 3, .seed = static_cast<std::uint32_t>(chosen.seed)};
  const std::string thrown =
      r.run(chosen, 2, 8, kernel, r.view(), watch(r), r.expected.data(), &r.lanes, &refused);
  return verdict(r, thrown, refused, chosen);
}
template <class Rig>
std::string served_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  Rig r(shape, 8 * shape.pages - 3);
  pager_rig<words, Rig> p(r, shape, 1);
  chosen.step_budget *= 10;
  std::uint32_t refused = 0;
  const words_of_three kernel{.rounds = 3, .seed = static_cast<std::uint32_t>(chosen.seed)};
  const std::string thrown =
      p.run(chosen, 2, 8, kernel, p.view(), watch(r), r.expected.data(), &r.lanes, &refused);
  return verdict(r, thrown, refused, chosen);
}

constexpr host::options seeded_once{.run = host::mode::seeded, .seed = 1};
template <class Rig, class View, class Body>
std::string run(Rig& r, std::uint32_t lanes, const View& view, Body body) {
  return r.run(seeded_once, 1, lanes, lambda_kernel<Body>{body}, view);
}

std::uint64_t references(const on_disk& r) {
  std::uint64_t all = 0;
  for (std::uint32_t p = 0; p < 12; ++p) all += r.word(p).references();
  return all;
}

constexpr status no_memory = status::make(status_code::no_memory, reporter::array);

}  // namespace

TEST_CASE("pages held together keep their words, fast") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CHECK(sets_run<on_disk>({.seed = seed}) == "");
    CHECK(sets_run<on_memory>({.seed = seed}) == "");
    CHECK(sets_run<on_chunks>({.seed = seed}) == "");
    CHECK(served_run<on_disk>({.seed = seed}) == "");
    CHECK(served_run<on_memory>({.seed = seed}) == "");
  }
}
TEST_CASE("pages held together keep their words, seeded") {
  sweep(host::mode::seeded, share, sets_run<on_disk>);
  sweep(host::mode::seeded, share, sets_run<on_memory>);
  sweep(host::mode::seeded, share, served_run<on_disk>);
}
TEST_CASE("pages held together keep their words, weak") {
  sweep(host::mode::weak, share, sets_run<on_disk>);
  sweep(host::mode::weak, share, sets_run<on_memory>);
  sweep(host::mode::weak, share, sets_run<on_chunks>);
}
TEST_CASE("pages held together that a pager fetches keep their words, weak") {
  sweep(host::mode::weak, share, served_run<on_disk>);
  sweep(host::mode::weak, share, served_run<on_memory>);
}

TEST_CASE("several pages are held until the scope ends, and those for reading stay clean") {
  on_disk r(rig_shape{.frames = 4});
  for (std::uint64_t i = 0; i < r.content.size(); ++i) r.content[i] = r.expected[i] = mix64(i);
  CHECK(run(r, 1, r.view(), [&](auto&, const auto& view) {
          const auto g = simt::group::self();
          {
            const auto pages = view.pages(g, {3, 20, 95, 4});
            static_assert(std::is_same_v<decltype(pages[0][0]), const words&>);
            REQUIRE(pages);
            CHECK(pages.outcome().ok());
            CHECK(pages[0][3] == mix64(3));
            CHECK(pages[1][20] == mix64(20));
            CHECK(pages[2].first() == 88);
            CHECK(pages[2].count() == 8);
            CHECK(!pages[2].holds(3));
            CHECK(pages.template get<3>()[7] == mix64(7));
            CHECK(r.word(0).references() == 2);
            CHECK(references(r) == 4);
          }
          CHECK(references(r) == 0);
          const auto pages = hold_pages(g, to_read(view, 0), to_write(view, 90));
          REQUIRE(pages);
          pages.template get<1>()[90] = r.expected[90] = 9;
        }) == "");
  CHECK(!r.word(0).is(page_word::dirty));
  CHECK(!r.word(2).is(page_word::dirty));
  CHECK(r.word(11).is(page_word::dirty));
  CHECK(r.quiet() == "");
}

TEST_CASE("if one page cannot be fetched none is held, and the reason is the page's") {
  on_disk r(rig_shape{}, 93);
  r.plan[3] = disk_plan::fetch_fails;
  CHECK(run(r, 4, r.view(), [&](auto& lane, const auto& view) {
          const simt::group g = lane.warp();
          for (int turn = 0; turn < 2; ++turn) {
            const auto failed = view.pages(g, {0, 24, 8});
            CHECK(!failed);
            CHECK(failed.outcome() == fake_store<true>::media_error(page_index(3)));
            CHECK(!failed[0].holds(0));
            CHECK(failed[2].count() == 0);
            const auto beyond = hold_pages(g, to_write(view, 8), to_read(view, 93));
            CHECK(beyond.outcome() == status::make(status_code::out_of_range, reporter::array));
            g.sync();
            CHECK(references(r) == 0);
            g.sync();
          }
        }) == "");
  CHECK(!r.word(1).is(page_word::dirty));
  CHECK(r.quiet() == "");
}

TEST_CASE("pages that do not fit together end with no memory, and leave the frames to others") {
  const rig_shape shape{.frames = 2, .timeout_ns = 200'000};
  on_disk r(shape);
  status seen, other;
  CHECK(run(r, 1, r.view(), [&](auto&, const auto& view) {
          seen = view.pages(simt::group::self(), {0, 8, 16}).outcome();
          other = view.load(24).status;
        }) == "");
  CHECK(seen == no_memory);
  CHECK(other.ok());
  CHECK(r.quiet() == "");
}

TEST_CASE("who waits for a page of several holds none of the others") {
  // A frame is held by the first warp until the second has read the page that fills the other one.
  const rig_shape shape{.frames = 2, .timeout_ns = 200'000};
  on_disk r(shape);
  std::uint32_t turn = 0;
  const device_word<std::uint32_t> now(turn);
  const auto await = [&](std::uint32_t what) {
    for (until more{simt::within(std::uint64_t{1'000'000})}; more && now.load(acquire) < what;) {
    }
  };
  status seen, other;
  const auto body = [&](auto& lane, const auto& view) {
    const auto g = simt::group::self();
    if (lane.block() == 0) {
      {
        const auto page = view.page(g, 0);
        now.store(1, release);
        await(2);
      }
      now.store(3, release);
    } else if (lane.block() == 1) {
      await(1);
      seen = view.pages(g, {8, 16}).outcome();  // one fits, until page 0 is let go
    } else {
      await(1);
      for (int k = 0; k < 50; ++k) lane.pause();
      other = view.load(24).status;
      now.store(2, release);
    }
  };
  CHECK(r.run(seeded_once, 3, 1, lambda_kernel<decltype(body)>{body}, r.view()) == "");
  CHECK(now.load(relaxed) == 3);
  CHECK(other.ok());
  CHECK(seen.ok());
  CHECK(r.quiet() == "");
}

namespace {

template <class Rig>
void check_overwriting(Rig& r, words* content, bool begins) {
  for (std::uint64_t i = 0; i < 96; ++i) content[i] = r.expected[i] = mix64(i);
  CHECK(run(r, 8, r.view(), [&](auto& lane, const auto& view) {
          const auto t = lane.thread();
          const auto pages =
              hold_pages(lane.warp(), to_read(view, 0), to_read(view, 8), to_overwrite(view, 16));
          REQUIRE(pages);
          pages.template get<2>()[16 + t] = pages.template get<0>()[t] + 1;
        }) == "");
  for (std::uint64_t t = 0; t < 8; ++t) r.expected[16 + t] = mix64(t) + 1;
  CHECK(r.counters().overwritten == (begins ? 1 : 0));
  CHECK(run(r, 32, r.view(), [&](auto& lane, const auto& view) {
          CHECK(view.flush(lane.warp(), page_index(2), lane.thread() == 0).ok());
        }) == "");
  CHECK(r.quiet() == "");
  CHECK(r.flushed() == "");
}

template <class Rig>
void check_kept(Rig& r, words* content) {
  for (std::uint64_t i = 0; i < 96; ++i) content[i] = r.expected[i] = mix64(i);
  CHECK(run(r, 8, r.view(), [&](auto& lane, const auto& view) {
          const auto pages =
              hold_pages(lane.warp(), to_read(view, 0), to_read(view, 8), to_overwrite(view, 16));
          CHECK(pages.outcome() == no_memory);
          CHECK(view.load(16 + lane.thread()).value == mix64(16 + lane.thread()));
        }) == "");
  CHECK(!r.word(2).is(page_word::dirty));
  CHECK(r.quiet() == "");
  CHECK(r.flushed() == "");
}

}  // namespace

TEST_CASE("a page of several that is overwritten is not fetched") {
  on_disk r(rig_shape{});
  check_overwriting(r, r.content.data(), true);
  CHECK(r.saw.fetches == 2);
  on_memory m(rig_shape{}, 96);
  check_overwriting(m, m.content(), true);
}

TEST_CASE("a page that was to be overwritten beside others that do not fit keeps its elements") {
  const rig_shape shape{.frames = 2, .timeout_ns = 200'000};
  on_disk r(shape);
  check_kept(r, r.content.data());
  on_memory m(shape, 96);
  check_kept(m, m.content());
}

namespace {

/// c = a + b, a page at a time.
struct add_whole_pages {
  struct shared {};
  template <class Lane, class View>
  void operator()(Lane& lane, View a, View b, View c, status* failed) const {
    const auto warp = lane.warp();
    for (std::uint64_t i = 0; i < c.size(); i += c.elements_per_page()) {
      // [snippet
      const auto pages = hold_pages(warp, to_read(a, i), to_read(b, i), to_overwrite(c, i));
      if (!pages) *failed = pages.outcome();
      const auto x = pages.template get<0>();
      const auto y = pages.template get<1>();
      const auto z = pages.template get<2>();
      for (auto k = i + warp.thread_rank(); z.holds(k); k += warp.size()) z[k] = x[k] + y[k];
      // snippet]
    }
  }
};

}  // namespace

TEST_CASE("pages of three arrays are held together") {
  on_memory a(rig_shape{}, 93), b(rig_shape{}, 93), c(rig_shape{}, 93);
  for (std::uint64_t i = 0; i < 93; ++i) {
    a.content()[i] = mix64(i);
    b.content()[i] = i;
    c.expected[i] = mix64(i) + i;
  }
  status failed;
  CHECK(c.run(seeded_once, 1, 32, add_whole_pages{}, a.view(), b.view(), c.view(), &failed) == "");
  CHECK(failed.ok());
  CHECK(c.run(seeded_once, 1, 32, flush_warps{}, c.view(), &c.lanes) == "");
  CHECK(c.counters().overwritten == 11);  // its last page ends within
  CHECK(c.flushed() == "");
  for (const on_memory* r : {&a, &b, &c}) CHECK(r->quiet() == "");
}

TEST_CASE("an exception that ends a lane with several pages in hand is reported as it was thrown") {
  on_disk r(rig_shape{});
  CHECK(run(r, 32, r.view(), [&](auto& lane, const auto& view) {
          const simt::group g = lane.warp();
          const auto pages = view.pages(g, {0, 8});
          if (lane.thread() == 5) throw std::runtime_error("lane 5 has had enough");
          CHECK(g.all(pages ? 1 : 0));
        }) == "lane 5 has had enough");
}

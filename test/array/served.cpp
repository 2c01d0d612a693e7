/// Arrays whose faults a pager serves, on the host runtime. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as
/// `qp/seed_sweep.hpp` says.
// label: thorough
#include "lambda_kernel.hpp"
#include "pager_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "verdict.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t seeded_share = 1000;
constexpr std::uint64_t weak_share = 1000;

using words = std::uint64_t;
using on_disk = rig<words, true>;
using on_memory = mapped_rig<words>;
using on_long = rig<words, true, long_store>;

/// Two warps read and write elements; their faults are served by one or two warps.
template <class Rig>
std::string random_run(host::options chosen) {
  const rig_shape shape = contended_shape(chosen.seed);
  chosen.step_budget *= 10;  // with one frame a batch of faults brings one page
  Rig r(shape, 8ull * shape.pages - 1);
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  pager_rig<words, Rig> p(r, shape, 1 + seed % 2, seed / 7 % 3);
  return verdict(r,
                 p.run(chosen, 2, 16, random_elements<words>{.rounds = 3, .seed = seed}, p.view(),
                       r.expected.data(), &r.lanes),
                 chosen);
}

/// A ring with fewer slots than pages. Untouched memory costs nothing.
class big_ring {
 public:
  static constexpr std::uint32_t pages = 3 * fault_ring::most_rings << 20;

  fault_ring get() const {
    const auto at = (reinterpret_cast<std::uintptr_t>(memory_.get()) + 127) / 128 * 128;
    return {reinterpret_cast<void*>(at), pages};
  }
  /// Pushes as many faults of the first ring's pages as it lets in, as if a pager served it.
  void fill_half() const {
    const auto at = (reinterpret_cast<std::uintptr_t>(memory_.get()) + 127) / 128 * 128;
    *reinterpret_cast<std::uint32_t*>(at + fault_ring::servers_offset()) = 1;
    for (std::uint32_t k = 0; k < fault_ring::most_slots / 2; ++k) {
      REQUIRE(get().has_room(page_index(0)));
      get().push({page_index(fault_ring::most_rings * k), page_use::write});
    }
  }

 private:
  std::unique_ptr<void, decltype(&std::free)> memory_{
      std::calloc(fault_ring::bytes(pages) / 128 + 2, 128), &std::free};
};

template <class Rig>
std::string reading_run(host::options chosen) {
  const rig_shape shape{.pages = 2 + static_cast<std::uint32_t>(chosen.seed / 2 % 3),
                        .frames = 1 + static_cast<std::uint32_t>(chosen.seed % 2),
                        .page_words = 2};
  const std::uint64_t count = std::uint64_t{2} * shape.pages;
  Rig r(shape, count);
  auto* const content = content_of(r);
  for (std::uint64_t i = 0; i < count; ++i) content[i] = r.expected[i] = mix64(i);
  pager_rig<words, Rig> p(r, shape, 1);
  return verdict(r,
                 p.run(chosen, 3, 4, read_all{.rounds = 6}, p.view(),
                       static_cast<std::uint32_t>(chosen.seed), &r.lanes),
                 chosen);
}

/// Every warp holds all pages in turn, from one of its own on, and reads each plainly.
struct read_held {
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint32_t* wrong) const {
    const simt::group g = lane.warp();
    const std::uint64_t pages = view.size() / view.elements_per_page();
    for (std::uint64_t k = 0; k < pages; ++k) {
      const std::uint64_t at = (k + 5 * lane.block()) % pages * view.elements_per_page();
      const auto page = view.page(g, at);
      const std::uint64_t mine = at + lane.thread() % view.elements_per_page();
      if (!page.holds(mine) || page[mine] != 3 * mine + 1) disk::add(*wrong, 1);
    }
  }
};

template <class Pager, class Body>
std::string run(Pager& p, std::uint32_t lanes, Body body) {
  const host::options seeded{.run = host::mode::seeded, .seed = 1};
  return p.run(seeded, 1, lanes, lambda_kernel<Body>{body}, p.view());
}

}  // namespace

TEST_CASE("elements whose faults are served keep what their owner wrote, fast") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CHECK(random_run<on_disk>({.seed = seed}) == "");
    CHECK(random_run<on_memory>({.seed = seed}) == "");
    CHECK(reading_run<on_disk>({.seed = seed}) == "");
    CHECK(reading_run<on_memory>({.seed = seed}) == "");
  }
}

TEST_CASE("elements on a disk whose faults are served keep what their owner wrote, seeded") {
  sweep(host::mode::seeded, seeded_share, random_run<on_disk>);
}
TEST_CASE("elements on a disk whose faults are served keep what their owner wrote, weak") {
  sweep(host::mode::weak, weak_share, random_run<on_disk>);
}
TEST_CASE("elements in memory whose faults are served keep what their owner wrote, seeded") {
  sweep(host::mode::seeded, seeded_share, random_run<on_memory>);
}
TEST_CASE("elements in memory whose faults are served keep what their owner wrote, weak") {
  sweep(host::mode::weak, weak_share, random_run<on_memory>);
}
TEST_CASE("long pages that a pager's lanes fetch together keep what their owner wrote, seeded") {
  sweep(host::mode::seeded, seeded_share / 4, random_run<on_long>);
}
TEST_CASE("long pages that a pager's lanes fetch together keep what their owner wrote, weak") {
  sweep(host::mode::weak, weak_share / 5, random_run<on_long>);
  sweep(host::mode::weak, weak_share / 5, reading_run<on_long>);
}

TEST_CASE("a long page that cannot be fetched is its waiter's error, and its frame is free") {
  const rig_shape shape{.pages = 4, .frames = 1};
  on_long r(shape);
  pager_rig<words, on_long> p(r, shape, 1);
  r.plan[2] = disk_plan::fetch_fails;
  r.content[8 * 3] = 5;
  status failed;
  words found = 0;
  CHECK(run(p, 1, [&](auto&, const auto& view) {
          failed = view.load(8 * 2).status;
          found = view[8 * 3];
        }) == "");
  CHECK(failed == long_store::media_error(page_index(2)));
  CHECK(found == 5);
  CHECK(r.quiet() == "");
}

TEST_CASE("reads whose faults are served see their page alone, weak") {
  sweep(host::mode::weak, weak_share, reading_run<on_disk>);
  sweep(host::mode::weak, weak_share, reading_run<on_memory>);
}

TEST_CASE("without a pager a fault is not ready at once, and leaves nothing behind") {
  const rig_shape shape{};
  on_disk r(shape);
  pager_rig<words, on_disk> p(r, shape, 1);
  const result<words> got = p.view().load(3);
  CHECK(got.status == status::make(status_code::not_ready, reporter::array));
  CHECK(p.faults().is_empty());
  CHECK(r.quiet() == "");
}

TEST_CASE("a page for whose fault there is no room in the ring is left as it was") {
  const rig_shape shape{.timeout_ns = 100'000};
  on_disk r(shape);
  const big_ring ring;
  ring.fill_half();
  const auto pages = r.view().cache();
  const served_store store(pages.store().page_bytes(), ring.get());
  using view_type = pager_rig<words, on_disk>::view_type;
  std::vector<std::uint64_t> twin(sizeof(view_type) / 8 + 1);
  auto* const room = reinterpret_cast<view_type*>(twin.data());
  const view_type& view =
      *new (room) view_type(served_pages(store, pages), r.expected.size(), shape.timeout_ns, room);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(view.load(3).status == status::make(status_code::timed_out, reporter::array));
    CHECK(!r.word(0).is(page_word::busy));
    CHECK(r.word(0).references() == 0);
  }
  CHECK(r.quiet() == "");
}

TEST_CASE("a pager that comes late is not waited for beyond the deadline") {
  // The page that was handed over stays busy, and is fetched when the pager is there.
  const rig_shape shape{.timeout_ns = 100'000};
  on_disk r(shape);
  pager_rig<words, on_disk> p(r, shape, 1);
  r.content[3] = 7;
  p.begin();
  CHECK(p.view().load(3).status == status::make(status_code::timed_out, reporter::array));
  CHECK(!p.faults().is_empty());
  words found = 0;
  CHECK(run(p, 1, [&](auto&, const auto& view) { found = view[3]; }) == "");
  CHECK(found == 7);
  CHECK(r.saw.fetches == 1);
  CHECK(r.quiet() == "");
}

TEST_CASE("a failed fetch by a pager reaches every lane that waits") {
  const rig_shape shape{};
  on_disk r(shape);
  pager_rig<words, on_disk> p(r, shape, 1);
  r.plan[3] = disk_plan::fetch_fails;
  status seen[32];
  CHECK(run(p, 32, [&](auto& lane, const auto& view) {
          seen[lane.thread()] = view.load(24 + lane.thread() % 8).status;
        }) == "");
  for (const status& s : seen) CHECK(s == fake_store<true>::media_error(page_index(3)));
  CHECK(r.saw.fetches == 1);
  CHECK(r.quiet() == "");
}

TEST_CASE("where every frame is held, a served fault ends with no memory, and others go on") {
  const rig_shape shape{.frames = 1, .timeout_ns = 200'000};
  on_disk r(shape);
  pager_rig<words, on_disk> p(r, shape, 1);
  status waiting;
  words later = 1;
  CHECK(run(p, 1, [&](auto&, const auto& view) {
          {
            const auto page = view.page(simt::group::self(), 0);
            REQUIRE(page);
            waiting = view.load(8).status;
          }
          later = view[8];
        }) == "");
  CHECK(waiting == status::make(status_code::no_memory, reporter::array));
  CHECK(later == 0);
  CHECK(r.quiet() == "");
}

TEST_CASE("what a warp reads in a page that it holds, it reads before the pager fills the frame") {
  // ThreadSanitizer takes a fence for more than it is; these warps have none.
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const rig_shape shape{.frames = 2 + static_cast<std::uint32_t>(seed % 2)};
    rig<words, false> r(shape);
    for (std::uint64_t k = 0; k < r.content.size(); ++k) r.content[k] = r.expected[k] = 3 * k + 1;
    pager_rig<words, rig<words, false>> p(r, shape, 1);
    std::uint32_t wrong = 0;
    CHECK(p.run({.run = host::mode::seeded, .seed = seed}, 2, 4, read_held{}, p.view(), &wrong) ==
          "");
    CHECK(wrong == 0);
    CHECK(r.quiet() == "");
  }
}

TEST_CASE("a page that was prefetched is there, and is fetched once") {
  const rig_shape shape{};
  on_disk r(shape);
  pager_rig<words, on_disk> p(r, shape, 1);
  r.content[17] = 4;
  words found = 0;
  CHECK(run(p, 4, [&](auto& lane, const auto& view) {
          view.prefetch(17);
          view.prefetch(1'000'000);  // beyond the end: nothing
          lane.warp().sync();
          if (lane.thread() == 0) found = view[17];
        }) == "");
  CHECK(found == 4);
  CHECK(r.saw.fetches == 1);
  CHECK(r.quiet() == "");
}

TEST_CASE("a pager fetches what was prefetched before it leaves") {
  const rig_shape shape{};
  on_disk r(shape);
  pager_rig<words, on_disk> p(r, shape, 1);
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const host::options seeded{.run = host::mode::seeded, .seed = seed};
    const auto body = [seed](auto& lane, const auto& view) {
      // The later, the more pages: one is new in every run.
      for (std::uint64_t k = 0; k < seed % 40; ++k) simt::pause();
      view.prefetch(8 * (seed + lane.thread()) % 96);
    };
    CHECK(p.run(seeded, 1, 4, lambda_kernel<decltype(body)>{body}, p.view()) == "");
    CHECK(r.quiet() == "");
  }
  CHECK(r.saw.fetches >= 4);
}

TEST_CASE("an empty ring gives nothing, however often it went round") {
  std::vector<word_line> memory(fault_ring::bytes(3) / sizeof(word_line) + 1);
  const fault_ring ring(memory.data(), 3);
  page_fault f;
  for (std::uint32_t k = 0; k < 20; ++k) {
    CHECK(ring.take(simt::group::self(), k, f) == 0);
    ring.push({page_index(k % 3), page_use::read});
    CHECK(!ring.is_empty());
    CHECK(ring.take(simt::group::self(), k, f) == 1);
    CHECK(f.page == page_index(k % 3));
    CHECK(ring.is_empty());
  }
}

TEST_CASE("a ring with fewer slots than pages is full at half of them") {
  const big_ring memory;
  constexpr std::uint32_t rings = fault_ring::most_rings;
  const std::uint32_t half = fault_ring::most_slots / 2;
  CHECK(fault_ring::slots_for(big_ring::pages) == fault_ring::most_slots);
  const fault_ring ring = memory.get();
  CHECK(ring.has_room(page_index(0)));
  memory.fill_half();
  CHECK(!ring.has_room(page_index(0)));
  CHECK(ring.has_room(page_index(1)));
  page_fault f;
  CHECK(ring.take(simt::group::self(), 1, f) == 0);
  CHECK(ring.take(simt::group::self(), 0, f) == 1);
  CHECK(f.page == page_index(0));
  CHECK(f.use == page_use::write);
  CHECK(ring.has_room(page_index(0)));
  // Twice round.
  for (std::uint32_t k = 0; k < 2 * fault_ring::most_slots; ++k) {
    ring.push({page_index(rings * (k + half)), page_use::overwrite});
    REQUIRE(ring.take(simt::group::self(), 0, f) == 1);
    REQUIRE(f.page == page_index(rings * (k + 1)));
  }
  CHECK(!ring.is_empty());
}

TEST_CASE("warps that take from several rings find every fault once") {
  constexpr std::uint32_t pages = 4096;
  std::vector<word_line> memory(fault_ring::bytes(pages) / sizeof(word_line) + 1);
  const fault_ring ring(memory.data(), pages);
  CHECK(fault_ring::rings_for(pages) == fault_ring::most_rings);
  std::vector<std::uint32_t> times(pages);
  // Each thread of the first warps pushes its share; two warps take until all have come.
  auto body = [&](auto& lane) {
    const std::uint32_t each = pages / 64;
    if (lane.global_thread() < 64) {
      for (std::uint32_t k = 0; k < each; ++k)
        ring.push({page_index(lane.global_thread() * each + k), page_use::read});
      return;
    }
    const simt::group g = lane.warp();
    std::uint32_t round = 0;
    for (bounded more{200'000}; more && (round < 64 || !ring.is_empty()); ++round) {
      page_fault f;
      const std::uint32_t there = ring.take(g, round, f);
      if (g.thread_rank() < there)
        device_word<std::uint32_t>(times[f.page.value]).fetch_add(1, relaxed);
      g.sync();
    }
  };
  host::executor machine({.run = host::mode::seeded, .seed = 7, .step_budget = 50'000'000});
  machine.spawn(4, 32, lambda_kernel<decltype(body)>{body});
  machine.run();
  CHECK(ring.is_empty());
  for (const std::uint32_t n : times) REQUIRE(n == 1);
}

TEST_CASE("faults of many rings are served by one warp, whichever ring is never empty") {
  // Pages 0, 8, 16 … share a ring; two frames, so that a lane keeps that ring busy.
  constexpr std::uint32_t pages = 1024;
  const rig_shape shape{.pages = pages, .frames = 2, .page_words = 2};
  on_disk r(shape, 2 * pages);
  pager_rig<words, on_disk> p(r, shape, 1);
  std::uint32_t ended = 0;
  const auto body = [&ended](auto& lane, const auto& view) {
    if (lane.global_thread() != 0) {
      CHECK(view.load(2 * 13).status.ok());
      device_word<std::uint32_t>(ended).fetch_add(1, release);
      return;
    }
    std::uint64_t k = 0;
    for (bounded more{2000}; more && device_word<std::uint32_t>(ended).load(acquire) == 0; ++k) {
      for (std::uint64_t page = 0; page < 64; page += 8) view.prefetch(2 * (8 * k + page) % pages);
    }
    CHECK(device_word<std::uint32_t>(ended).load(acquire) == 1);
  };
  host::options chosen{.run = host::mode::seeded, .seed = 5};
  chosen.step_budget = 50'000'000;
  CHECK(p.run(chosen, 2, 1, lambda_kernel<decltype(body)>{body}, p.view()) == "");
  CHECK(r.quiet() == "");
}

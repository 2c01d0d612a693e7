/// Arrays that keep words of those pages alone that lie in frames. GNSTOR_SEEDS and
/// GNSTOR_FIRST_SEED as `qp/seed_sweep.hpp` says.
// label: thorough
#include "pager_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "verdict.hpp"
#include <gnstor/array/hashed_store.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t seeded_share = 600;
constexpr std::uint64_t weak_share = 500;

using element = std::uint64_t;
/// Eight places in all: pages and lanes that wait have to share them.
using scarce = hashed_words<1>;
/// Three buckets, and so three locks.
using spread = hashed_words<3>;

template <class Words>
using on_disk = rig<element, true, hashed_store<fake_store<true>, Words>>;
template <class Words>
using on_memory = mapped_rig<element, hashed_store<mapped_store, Words>>;
template <class Words>
using in_chunks = mapped_rig<element, hashed_store<small_chunks, Words>>;

template <class Rig>
disk watch_of(Rig& r) {
  if constexpr (requires { r.watch(); }) {
    return r.watch();
  } else {
    return r.disk_ref();
  }
}

/// Two warps read and write elements.
template <class Rig>
std::string random_run(host::options chosen) {
  const rig_shape shape = contended_shape(chosen.seed);
  Rig r(shape, 8ull * shape.pages - 1);
  chosen.step_budget *= 4;
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  return verdict(r,
                 r.run(chosen, 2, 16, random_elements<element>{.rounds = 3, .seed = seed}, r.view(),
                       r.expected.data(), &r.lanes),
                 chosen);
}
/// Two warps pin pages and use atomic words of them.
template <class Rig>
std::string pinned_run(host::options chosen) {
  const rig_shape shape = contended_shape(chosen.seed);
  Rig r(shape, 8 * shape.pages - 3);
  chosen.step_budget *= 4;
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  return verdict(r,
                 r.run(chosen, 2, 8, pinned_words{.rounds = 4, .seed = seed}, r.view(), watch_of(r),
                       r.expected.data(), &r.lanes),
                 chosen);
}
/// Lanes read pages that come and go, more of them than there are places.
template <class Rig>
std::string reading_run(host::options chosen) {
  const rig_shape shape{.pages = 2 + static_cast<std::uint32_t>(chosen.seed / 2 % 12),
                        .frames = 1 + static_cast<std::uint32_t>(chosen.seed % 2)};
  Rig r(shape, 8ull * shape.pages);
  chosen.step_budget *= 4;
  for (std::uint64_t i = 0; i < r.expected.size(); ++i) content_of(r)[i] = r.expected[i] = mix64(i);
  return verdict(r,
                 r.run(chosen, 3, 4, read_all{.rounds = 2}, r.view(),
                       static_cast<std::uint32_t>(chosen.seed), &r.lanes),
                 chosen);
}
/// The same as `random_run` where others fetch.
template <class Rig>
std::string served_run(host::options chosen) {
  const rig_shape shape = contended_shape(chosen.seed);
  chosen.step_budget *= 20;
  Rig r(shape, 8ull * shape.pages - 1);
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  pager_rig<element, Rig> p(r, shape, 1 + seed % 2, seed / 7 % 3);
  return verdict(r,
                 p.run(chosen, 2, 16, random_elements<element>{.rounds = 2, .seed = seed}, p.view(),
                       r.expected.data(), &r.lanes),
                 chosen);
}

/// Words in this process's memory, as a table has them.
template <class Words>
struct bare_words {
  explicit bare_words(std::uint32_t frames)
      : memory(Words::bytes(0, frames) / 8 + 1), words(memory.data(), 0, frames) {}
  /// Gives one place per page, and lets it lie there as one that is in a frame.
  bool place(std::uint32_t page) {
    page_word seen;
    if (!words.refer(page_index(page), seen)) return false;
    words.at(page_index(page)).fetch_add(page_word::resident - page_word::reference, relaxed);
    return true;
  }
  void remove(std::uint32_t page) {
    words.at(page_index(page)).fetch_sub(page_word::resident, relaxed);
  }
  std::vector<std::uint64_t> memory;
  Words words;
};

/// What lanes know of places and pages, beside the words.
struct place_record {
  static constexpr std::uint32_t pages = 40;
  static constexpr std::uint32_t places = 24;
  std::uint32_t held[places][pages] = {};  ///< references, by place and page
  std::uint32_t there[pages] = {};         ///< places where the page is as one in a frame
  std::uint32_t wrong = 0;
};

/// Lanes refer to pages, let them come into frames, and take others out of theirs.
template <class Words>
struct come_and_go {
  std::uint64_t* memory;
  std::uint32_t seed;

  template <class Lane>
  void operator()(Lane& lane, place_record* r) const {
    const Words words(memory, 0, 1);
    lane_draws draws(seed, lane.global_thread());
    for (std::uint32_t round = 0; round < 12; ++round) {
      const std::uint64_t draw = draws.own();
      const page_index page(static_cast<std::uint32_t>(draw >> 8) % place_record::pages);
      if (draw % 3 == 0) {
        evict(words, page, r);
      } else {
        use(words, page, draw % 2 == 0, r);
      }
    }
  }
  void use(const Words& words, page_index page, bool comes, place_record* r) const {
    page_word seen;
    if (!words.refer(page, seen)) return;
    const auto place = static_cast<std::uint32_t>(words.find(page) - memory);
    disk::add(r->held[place][page.value], 1);
    for (std::uint32_t k = 0; k < place_record::places; ++k) {
      for (std::uint32_t p = 0; p < place_record::pages; ++p) {
        // No scheduling point: no lane goes on before all were looked at.
        const bool other = (k == place) != (p == page.value);
        if (other && __atomic_load_n(&r->held[k][p], __ATOMIC_RELAXED) != 0) disk::add(r->wrong, 1);
      }
    }
    constexpr std::uint64_t here = page_word::resident | page_word::busy;
    const auto word = words.at(page);
    if (comes && !seen.is(here) &&
        word.compare_exchange(seen.bits, seen.bits | page_word::busy, acquire)) {
      if (disk::add(r->there[page.value], 1) != 0) disk::add(r->wrong, 1);
      word.fetch_add(page_word::resident - page_word::busy, release);
    }
    disk::add(r->held[place][page.value], ~0u);
    words.at(page).fetch_sub(page_word::reference, release);
  }
  void evict(const Words& words, page_index page, place_record* r) const {
    std::uint64_t* const found = words.find(page);
    if (found == nullptr) return;
    const device_word<std::uint64_t> word(*found);
    page_word seen{word.load(relaxed)};
    if (!seen.usable() || seen.references() != 0) return;
    if (!word.compare_exchange(seen.bits, seen.bits | page_word::busy, acquire)) return;
    if (!words.is_of(page, found)) {
      word.fetch_sub(page_word::busy, release);
      return;
    }
    if (disk::add(r->there[page.value], ~0u) != 1) disk::add(r->wrong, 1);
    const std::uint64_t older = seen.version() - seen.next_version();
    word.fetch_sub(page_word::busy + page_word::resident + older, release);
  }
};

template <class Words>
std::string places_run(host::options chosen) {
  std::vector<std::uint64_t> memory(Words::bytes(0, 1) / 8 + 1);
  place_record r;
  host::executor machine(chosen);
  machine.spawn(2, 8, come_and_go<Words>{memory.data(), static_cast<std::uint32_t>(chosen.seed)},
                &r);
  const std::string thrown = run_to_end(machine);
  if (!thrown.empty()) return thrown;
  if (r.wrong != 0) return "a place had two pages, or a page two places";
  const Words words(memory.data(), 0, 1);
  for (std::uint32_t p = 0; p < place_record::pages; ++p) {
    const page_word word = words.look(page_index(p));
    if (word.references() != 0 || word.is(page_word::busy)) return "a page is still in use";
    if (word.is(page_word::resident) != (r.there[p] == 1)) return "a page was lost";
  }
  return {};
}

}  // namespace

TEST_CASE("no place has two pages, and no page two places, seeded") {
  sweep(host::mode::seeded, 5 * seeded_share, places_run<scarce>);
  sweep(host::mode::seeded, 5 * seeded_share, places_run<spread>);
}

TEST_CASE("elements of hashed pages keep what their owner wrote, fast") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CHECK(random_run<on_disk<scarce>>({.seed = seed}) == "");
    CHECK(random_run<on_memory<spread>>({.seed = seed}) == "");
    CHECK(random_run<in_chunks<scarce>>({.seed = seed}) == "");
    CHECK(pinned_run<on_disk<spread>>({.seed = seed}) == "");
    CHECK(pinned_run<on_memory<scarce>>({.seed = seed}) == "");
    CHECK(reading_run<on_disk<scarce>>({.seed = seed}) == "");
    CHECK(served_run<on_disk<scarce>>({.seed = seed}) == "");
    CHECK(served_run<on_memory<spread>>({.seed = seed}) == "");
  }
}

TEST_CASE("elements of hashed pages keep what their owner wrote, seeded") {
  sweep(host::mode::seeded, seeded_share / 2, random_run<on_disk<scarce>>);
  sweep(host::mode::seeded, seeded_share / 2, random_run<on_disk<spread>>);
  sweep(host::mode::seeded, seeded_share / 2, random_run<on_memory<scarce>>);
  sweep(host::mode::seeded, seeded_share / 2, random_run<in_chunks<spread>>);
}
TEST_CASE("elements of hashed pages keep what their owner wrote, weak") {
  sweep(host::mode::weak, weak_share, random_run<on_disk<scarce>>);
  sweep(host::mode::weak, weak_share, random_run<on_memory<spread>>);
}
TEST_CASE("hashed pages that are pinned stay and keep their words, weak") {
  sweep(host::mode::weak, weak_share, pinned_run<on_disk<spread>>);
  sweep(host::mode::weak, weak_share, pinned_run<on_memory<scarce>>);
}
TEST_CASE("reads of hashed pages without a reference see their page alone, seeded") {
  sweep(host::mode::seeded, seeded_share, reading_run<on_disk<scarce>>);
  sweep(host::mode::seeded, seeded_share, reading_run<on_memory<spread>>);
}
TEST_CASE("reads of hashed pages without a reference see their page alone, weak") {
  sweep(host::mode::weak, weak_share, reading_run<on_disk<spread>>);
  sweep(host::mode::weak, weak_share, reading_run<on_memory<scarce>>);
}
TEST_CASE("hashed pages whose faults are served keep what their owner wrote, seeded") {
  sweep(host::mode::seeded, seeded_share / 4, served_run<on_disk<scarce>>);
  sweep(host::mode::seeded, seeded_share / 4, served_run<on_memory<spread>>);
}
TEST_CASE("hashed pages whose faults are served keep what their owner wrote, weak") {
  sweep(host::mode::weak, weak_share / 4, served_run<on_disk<spread>>);
  sweep(host::mode::weak, weak_share / 4, served_run<on_memory<scarce>>);
}

TEST_CASE("hashed words and a frame's own are 24 bytes a frame") {
  for (const std::uint32_t frames : {1u << 12, 1u << 20, 1u << 26}) {
    CHECK(hashed_words<>::bytes(~0u, frames) + frame_ring::bytes(frames) - frame_ring::bytes(0) <=
          24ull * frames);
  }
  CHECK(hashed_words<>::bytes(~0u, 32) <= 16 * 1024);
}

TEST_CASE("every frame's page finds a place, whatever came and went") {
  constexpr std::uint32_t frames = 1 << 14;
  bare_words<hashed_words<>> w(frames);
  std::mt19937 random(1);
  std::vector<std::uint32_t> held;
  for (; held.size() < frames;) {
    const std::uint32_t page = random() >> 1;
    if (w.words.find(page_index(page)) != nullptr) continue;
    CAPTURE(held.size());
    REQUIRE(w.place(page));
    held.push_back(page);
  }
  for (int round = 0; round < 300'000; ++round) {
    std::uint32_t& page = held[random() % frames];
    w.remove(page);
    for (page = random() >> 1; w.words.find(page_index(page)) != nullptr; page = random() >> 1) {
    }
    CAPTURE(round);
    REQUIRE(w.place(page));
  }
  for (const std::uint32_t page : held)
    CHECK(w.words.look(page_index(page)).is(page_word::resident));
}

TEST_CASE("a page without a place is refused until one is free") {
  bare_words<scarce> w(1);
  for (std::uint32_t page = 0; page < 8; ++page) CHECK(w.place(page));
  const std::vector<std::uint64_t> before = w.memory;
  CHECK(!w.place(8));
  CHECK(w.memory == before);
  w.remove(3);
  page_word seen;
  CHECK(w.words.refer(page_index(3), seen));  // a page that is waited for keeps its place
  CHECK(!w.place(8));
  w.words.at(page_index(3)).fetch_sub(page_word::reference, relaxed);
  CHECK(w.place(8));
  CHECK(w.words.find(page_index(3)) == nullptr);
  CHECK(w.words.look(page_index(3)).bits == 0);
}

TEST_CASE("a page whose place somebody tries to take is still seen") {
  bare_words<scarce> w(1);
  CHECK(w.place(5));
  const std::uint64_t seen = w.words.look(page_index(5)).bits;
  constexpr std::size_t keys = scarce::places(0, 1);  // words, then keys by two
  for (std::size_t k = keys; k < keys + 4; ++k) w.memory[k] |= (1ull << 63) | (1ull << 31);
  CHECK(w.words.look(page_index(5)).bits == seen);
  page_word with_reference;
  CHECK(!w.words.refer(page_index(5), with_reference));
  CHECK(w.words.look(page_index(5)).bits == seen);
}

TEST_CASE("the version of a place grows with every page that leaves it") {
  bare_words<scarce> w(1);
  for (std::uint32_t page = 1; page < 8; ++page) CHECK(w.place(page));
  CHECK(w.place(100));
  const auto seen = w.words.look(page_index(100));
  w.words.at(page_index(100)).fetch_sub(page_word::resident - (1ull << 26), relaxed);
  CHECK(w.place(200));
  CHECK(w.words.look(page_index(200)).version() == (1ull << 26));
  CHECK(!w.words.again(page_index(100), seen).unmoved_since(seen));
}

TEST_CASE_TEMPLATE("a reference too many is refused, and none is lost", Words, dense_words,
                   hashed_words<>) {
  std::vector<std::uint64_t> memory(Words::bytes(4, 4) / 8 + 1);
  const Words w(memory.data(), 4, 4);
  page_word seen;
  REQUIRE(w.refer(page_index(2), seen));
  w.at(page_index(2)).fetch_add(page_word::most_references - 1, relaxed);
  CHECK(!w.refer(page_index(2), seen));
  CHECK(w.look(page_index(2)).references() == page_word::most_references);
  w.at(page_index(2)).fetch_sub(page_word::reference, relaxed);
  CHECK(w.refer(page_index(2), seen));
  CHECK(seen.references() == page_word::most_references);
}

/// Paging from mapped memory on the host runtime: pages are copied by the lanes that need them,
/// and read without a reference. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as `qp/seed_sweep.hpp` says.
#include "mapped_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "verdict.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t seeded_share = 2000;
constexpr std::uint64_t weak_share = 2000;

/// Shapes from a seed: few frames, often fewer than the lanes use at once.
rig_shape shape_of(std::uint64_t seed) {
  rig_shape s;
  s.how = static_cast<eviction>(seed / 15 % 3);
  s.frames = 1 + static_cast<std::uint32_t>(seed % 6);
  return s;
}

/// Two warps read and write elements of type T; the memory ends within the last page.
template <class T, class Store = mapped_store>
std::string random_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  mapped_rig<T, Store> r(shape, 8ull * shape.page_words * shape.pages / sizeof(T) - 1);
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  return verdict(r,
                 r.run(chosen, 2, 16, random_elements<T>{.rounds = 3, .seed = seed}, r.view(),
                       r.expected.data(), &r.lanes),
                 chosen);
}

/// Two warps pin pages and use atomic words of them.
template <class Store = mapped_store>
std::string pinned_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  mapped_rig<std::uint64_t, Store> r(shape, 8 * shape.pages - 3);
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  return verdict(r,
                 r.run(chosen, 2, 8, pinned_words{.rounds = 4, .seed = seed}, r.view(), r.watch(),
                       r.expected.data(), &r.lanes),
                 chosen);
}

template <class Store = mapped_store>
std::string reading_run(host::options chosen) {
  // Two pages on one frame come and go while a lane reads: only their versions tell.
  const std::uint32_t page_words = std::is_same_v<Store, mapped_store> ? 2 : 8;
  const rig_shape shape{.pages = 2 + static_cast<std::uint32_t>(chosen.seed / 2 % 3),
                        .frames = 1 + static_cast<std::uint32_t>(chosen.seed % 2),
                        .page_words = page_words};
  const std::uint64_t elements = page_words * shape.pages - chosen.seed % 3 * (page_words / 4);
  mapped_rig<std::uint64_t, Store> r(shape, elements);
  for (std::uint64_t i = 0; i < elements; ++i) r.content()[i] = r.expected[i] = mix64(i);
  return verdict(r,
                 r.run(chosen, 3, 4, read_all{.rounds = 6}, r.view(),
                       static_cast<std::uint32_t>(chosen.seed), &r.lanes),
                 chosen);
}

/// Lanes of a warp read one of two arrays each, by their parity, and count what is wrong.
struct read_either {
  template <class Lane, class View>
  void operator()(Lane& lane, View even, View odd, std::uint32_t* wrong) const {
    const bool is_even = lane.thread() % 2 == 0;
    const View& mine = is_even ? even : odd;
    for (std::uint64_t round = 0; round < 8; ++round) {
      const std::uint64_t i = mix64(lane.thread() + 64 * round) % mine.size();
      if (mine[i] != mix64(i) + (is_even ? 0 : 1)) disk::add(*wrong, 1);
    }
  }
};

/// Two arrays in one warp, with pages of different lengths, copied in chunks.
std::string either_run(host::options chosen) {
  using chunked = mapped_rig<std::uint64_t, small_chunks>;
  chunked even({.pages = 12, .frames = 5, .page_words = 8}, 95);
  chunked odd({.pages = 6, .frames = 3, .page_words = 16}, 93);
  for (std::uint64_t i = 0; i < 95; ++i) even.content()[i] = mix64(i);
  for (std::uint64_t i = 0; i < 93; ++i) odd.content()[i] = mix64(i) + 1;
  std::uint32_t wrong = 0;
  std::string fault = even.run(chosen, 2, 32, read_either{}, even.view(), odd.view(), &wrong);
  if (fault.empty() && wrong != 0) fault = "an element had a wrong value";
  if (fault.empty()) fault = even.quiet();
  return fault.empty() ? odd.quiet() : fault;
}

/// Lanes of three warps read elements of few pages by turns, the last page of one chunk most often.
struct read_short_page {
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint32_t seed, std::uint32_t* wrong) const {
    lane_draws draws(seed, lane.global_thread());
    for (std::uint32_t round = 0; round < 6; ++round) {
      const std::uint64_t last = view.size() - 1;
      const std::uint64_t i = draws.own() % 2 == 0 ? last : draws.own() % last;
      if (view[i] != mix64(i)) disk::add(*wrong, 1);
    }
  }
};
std::string short_page_run(host::options chosen) {
  const auto frames = 2 + static_cast<std::uint32_t>(chosen.seed % 2);
  mapped_rig<std::uint64_t, small_chunks> r({.pages = 4, .frames = frames, .page_words = 8}, 25);
  for (std::uint64_t i = 0; i < 25; ++i) r.content()[i] = mix64(i);
  std::uint32_t wrong = 0;
  std::string fault = r.run(chosen, 3, 4, read_short_page{}, r.view(),
                            static_cast<std::uint32_t>(chosen.seed), &wrong);
  if (fault.empty() && wrong != 0) fault = "an element had a wrong value";
  return fault.empty() ? r.quiet() : fault;
}

}  // namespace

TEST_CASE("mapped elements keep what their owner wrote, fast") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CHECK(random_run<std::uint8_t>({.seed = seed}) == "");
    CHECK(random_run<std::uint16_t>({.seed = seed}) == "");
    CHECK(random_run<std::uint32_t>({.seed = seed}) == "");
    CHECK(random_run<std::uint64_t>({.seed = seed}) == "");
    CHECK(random_run<wide>({.seed = seed}) == "");
    CHECK(pinned_run({.seed = seed}) == "");
    CHECK(reading_run({.seed = seed}) == "");
    CHECK(random_run<std::uint32_t, small_chunks>({.seed = seed}) == "");
    CHECK(pinned_run<small_chunks>({.seed = seed}) == "");
    CHECK(reading_run<small_chunks>({.seed = seed}) == "");
  }
}

TEST_CASE("a page that left its frame and came back there has not stayed") {
  mapped_rig<std::uint64_t> r({.pages = 2, .frames = 1, .page_words = 2}, 4);
  const auto view = r.view();
  CHECK(view.load(0).status.ok());
  const page_word seen = view.cache().look(page_index(0));
  CHECK(seen.usable());
  CHECK(view.cache().is_still(page_index(0), seen));
  CHECK(view.load(2).status.ok());
  CHECK(!view.cache().is_still(page_index(0), seen));
  CHECK(view.load(0).status.ok());
  CHECK(view.cache().look(page_index(0)).frame() == seen.frame());
  CHECK(!view.cache().is_still(page_index(0), seen));
}

TEST_CASE("the last page of mapped memory ends where the memory ends") {
  unsigned char bytes[1];  // nothing is read there
  const mapped_store store(bytes, 2 * 512 + 40, 512);
  CHECK(store.page_bytes(page_index(0)) == 512);
  CHECK(store.page_bytes(page_index(1)) == 512);
  CHECK(store.page_bytes(page_index(2)) == 40);
  CHECK(store.data(page_index(2)) == bytes + 1024);
}

TEST_CASE("mapped elements keep what their owner wrote, seeded") {
  sweep(host::mode::seeded, seeded_share, random_run<std::uint32_t>);
}

TEST_CASE("pinned pages of mapped memory keep their words, seeded") {
  sweep(host::mode::seeded, seeded_share, pinned_run<>);
}

TEST_CASE("pinned pages of mapped memory keep their words, weak") {
  sweep(host::mode::weak, weak_share, pinned_run<>);
}

TEST_CASE("reads without a reference see their page alone, seeded") {
  sweep(host::mode::seeded, seeded_share, reading_run<>);
}

TEST_CASE("reads without a reference see their page alone, weak") {
  sweep(host::mode::weak, weak_share, reading_run<>);
}

TEST_CASE("elements of mapped memory are written and read by owners at once, weak") {
  sweep(host::mode::weak, weak_share, random_run<std::uint64_t>);
}

TEST_CASE("warps that copy a page together keep its words, seeded") {
  sweep(host::mode::seeded, seeded_share, pinned_run<small_chunks>);
}

TEST_CASE("warps that copy a page together keep its words, weak") {
  sweep(host::mode::weak, weak_share, pinned_run<small_chunks>);
}

TEST_CASE("reads without a reference see a page alone that warps copy together, weak") {
  sweep(host::mode::weak, weak_share, reading_run<small_chunks>);
}

TEST_CASE("elements of pages that warps copy together are written and read, weak") {
  sweep(host::mode::weak, weak_share, random_run<std::uint64_t, small_chunks>);
}

namespace {

/// Writes every page whole, and what its element is to be.
struct overwrite_all {
  struct shared {};
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint64_t* expected, access_record* record) const {
    const simt::group warp = lane.warp();
    const std::uint64_t each = view.elements_per_page();
    const std::uint64_t blocks = lane.grid_threads() / lane.block_threads();
    for (std::uint64_t i = lane.block() * each; i < view.size(); i += blocks * each) {
      const auto page = view.overwritten_page(warp, i);
      if (!page) disk::add(record->failed, 1);
      for (std::uint64_t k = i + lane.thread(); page.holds(k); k += warp.size())
        device_word<std::uint64_t>(page[k]).store(expected[k] = mix64(k), relaxed);
    }
  }
};

std::string overwriting_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  mapped_rig<std::uint64_t> r(shape, shape.page_words * shape.pages - 3);
  return verdict(r, r.run(chosen, 2, 8, overwrite_all{}, r.view(), r.expected.data(), &r.lanes),
                 chosen);
}

}  // namespace

TEST_CASE("pages are overwritten whole, weak") {
  sweep(host::mode::weak, weak_share / 4, overwriting_run);
}

TEST_CASE("a page that is overwritten is not fetched, but for the last one if elements end there") {
  mapped_rig<std::uint64_t> r({.pages = 2, .frames = 2, .page_words = 4}, 7);
  for (std::uint64_t i = 0; i < 7; ++i) r.content()[i] = i + 10;
  const auto view = r.view();
  {
    const auto page = view.overwritten_page(simt::group::self(), 1);
    REQUIRE(page);
    CHECK(page[1] == 0);
    for (std::uint64_t i = 0; i < 4; ++i) page[i] = r.expected[i] = i + 20;
  }
  {
    const auto page = view.overwritten_page(simt::group::self(), 4);
    REQUIRE(page);
    for (std::uint64_t i = 4; i < 7; ++i) CHECK(page[i] == i + 10);
    page[5] = 25;
  }
  r.expected[4] = 14;
  r.expected[5] = 25;
  r.expected[6] = 16;
  for (std::uint32_t p = 0; p < 2; ++p) CHECK(view.flush(page_index(p)).ok());
  CHECK(r.quiet() == "");
  CHECK(r.flushed() == "");
}

TEST_CASE("lanes of one warp that use two mapped arrays keep them apart") {
  CHECK(either_run({}) == "");
  sweep(host::mode::seeded, 200, either_run);
  sweep(host::mode::weak, 50, either_run);
}

TEST_CASE("a page of one chunk is published in the frame it was copied into") {
  sweep(host::mode::seeded, 500, short_page_run);
  sweep(host::mode::weak, 100, short_page_run);
}

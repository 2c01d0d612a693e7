/// What a page cache and a view promise when the store works.
#include "rig.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;
namespace host = simt::host;

namespace {

/// Reads element `lane` of one of two arrays, by the lane's parity.
struct two_arrays {
  template <class Lane, class View>
  void operator()(Lane& lane, View even, View odd, std::uint64_t* read) const {
    const View& mine = lane.thread() % 2 == 0 ? even : odd;
    read[lane.thread()] = mine[lane.thread() / 2];
  }
};

/// Lanes of one warp store, add and load on one page at once.
struct mixed_warp {
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint32_t* sum) const {
    const std::uint32_t t = lane.thread();
    if (t % 3 == 0) {
      disk::add(*sum, view[t]);
    } else if (t % 3 == 1) {
      view[t] = 100u + t;
    } else {
      view[t] += 1000u;
    }
  }
};

/// Adds up what a warp reads through one pinned page after another.
struct sum_pages {
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint64_t* sums, std::uint32_t* counts) const {
    const simt::group g = lane.warp();
    std::uint64_t sum = 0;
    std::uint32_t pages = 0;
    for (std::uint64_t i = 0; i < view.size();) {
      const auto page = view.acquire_page(g, i);
      for (std::uint32_t k = g.thread_rank(); k < page.value.count; k += g.size()) {
        sum += page.value[page.value.first + k];
      }
      counts[pages++] = page.value.count;
      i += page.value.count;
      view.release_page(g, page.value);
    }
    sums[lane.thread()] = sum;
  }
};

template <class T>
void check_shift(std::uint32_t page_bytes) {
  const rig_shape shape{.pages = 3, .frames = 2, .page_words = page_bytes / 8};
  const std::uint64_t per_page = page_bytes / sizeof(T);
  rig<T, false> r(shape, 2 * per_page + 1);
  CHECK(r.view().elements_per_page() == per_page);
  auto* content = reinterpret_cast<T*>(r.content.data());
  const std::uint64_t edges[] = {0, per_page - 1, per_page, 2 * per_page - 1, 2 * per_page};
  for (const std::uint64_t i : edges) content[i] = element_of<T>(i + 1);
  const auto view = r.view();
  for (const std::uint64_t i : edges) {
    CAPTURE(i);
    const result<T> read = view.load(i);
    CHECK(read.status.ok());
    CHECK((read.value == element_of<T>(i + 1)));
    CHECK(view.store(i, element_of<T>(7 * i + 3)).ok());
    r.expected[i] = element_of<T>(7 * i + 3);
  }
  CHECK(view.load(2 * per_page + 1).status.code == status_code::out_of_range);
  for (std::uint32_t p = 0; p < 3; ++p) CHECK(view.flush(page_index(p)).ok());
  CHECK(r.flushed() == "");
  CHECK(r.quiet() == "");
}

}  // namespace

TEST_CASE("elements of every size lie where they should in pages of every size") {
  for (std::uint32_t page = 64; page <= (2u << 20); page *= page < 4096 ? 4 : 8) {
    CAPTURE(page);
    check_shift<std::uint8_t>(page);
    check_shift<std::uint16_t>(page);
    check_shift<std::uint32_t>(page);
    check_shift<std::uint64_t>(page);
    check_shift<wide>(page);
  }
}

TEST_CASE("lanes on one page share its fetch: pages in are the distinct pages") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    rig<std::uint32_t, false> r({.pages = 8, .frames = 8});
    REQUIRE(r.run({.run = host::mode::seeded, .seed = seed}, 3, 32,
                  random_elements<std::uint32_t>{.rounds = 3}, r.view(), r.expected.data(),
                  &r.lanes) == "");
    std::uint64_t resident = 0;
    for (std::uint32_t p = 0; p < 8; ++p) resident += r.word(p).is(page_word::resident) ? 1 : 0;
    CHECK(r.counters().pages_in == resident);
    CHECK(r.saw.fetches == resident);
    CHECK(r.counters().evictions == 0);
    CHECK(r.quiet() == "");
  }
}

TEST_CASE("lanes of one warp that use two arrays keep them apart") {
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    rig<std::uint64_t, false> even(rig_shape{});
    rig<std::uint64_t, false> odd(rig_shape{});
    // The same page lies in another frame of each array.
    CHECK(odd.view().load(90).status.ok());
    for (std::size_t k = 0; k < 16; ++k) {
      even.content[k] = 200 + k;
      odd.content[k] = 300 + k;
    }
    std::uint64_t read[32];
    const auto mode = seed == 0 ? host::mode::fast : host::mode::seeded;
    REQUIRE(even.run({.run = mode, .seed = seed}, 1, 32, two_arrays{}, even.view(), odd.view(),
                     &read[0]) == "");
    for (std::uint32_t k = 0; k < 32; ++k) {
      CAPTURE(k);
      CHECK(read[k] == (k % 2 == 0 ? 200u : 300u) + k / 2);
    }
    CHECK(even.quiet() == "");
    CHECK(odd.quiet() == "");
  }
}

TEST_CASE("lanes that store beside lanes that load make the page dirty") {
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    rig<std::uint32_t, false> r({.pages = 2, .frames = 1, .page_words = 16});
    for (std::uint32_t k = 0; k < 32; ++k) {
      reinterpret_cast<std::uint32_t*>(r.content.data())[k] = k;
      r.expected[k] = k % 3 == 0 ? k : k % 3 == 1 ? 100 + k : 1000 + k;
    }
    std::uint32_t sum = 0;
    const auto mode = seed == 0 ? host::mode::fast : host::mode::seeded;
    REQUIRE(r.run({.run = mode, .seed = seed}, 1, 32, mixed_warp{}, r.view(), &sum) == "");
    CHECK(sum == 3 * (10 * 11 / 2));
    CHECK(r.view().load(32).status.ok());
    CHECK(r.flushed() == "");
  }
}

TEST_CASE("a warp walks all pages by pinning them, the partial last one too") {
  rig<std::uint16_t, false> r({.pages = 4, .frames = 2}, 3 * 32 + 5);
  auto* content = reinterpret_cast<std::uint16_t*>(r.content.data());
  for (std::uint32_t i = 0; i < 3 * 32 + 5; ++i) content[i] = static_cast<std::uint16_t>(i);
  content[3 * 32 + 5] = 9999;
  std::uint64_t sums[32] = {};
  std::uint32_t counts[4] = {};
  REQUIRE(r.run({}, 1, 32, sum_pages{}, r.view(), &sums[0], &counts[0]) == "");
  std::uint64_t sum = 0;
  for (const std::uint64_t s : sums) sum += s;
  CHECK(sum == 101 * 100 / 2);
  CHECK(counts[2] == 32);
  CHECK(counts[3] == 5);
  CHECK(r.quiet() == "");
}

TEST_CASE("frames are taken in turn: the page fetched first goes first") {
  rig<std::uint64_t, false> r({.pages = 12, .frames = 4});
  const auto view = r.view();
  for (std::uint64_t page = 0; page < 6; ++page) CHECK(view.load(8 * page).status.ok());
  for (std::uint32_t page = 0; page < 12; ++page) {
    CHECK(r.word(page).is(page_word::resident) == (page >= 2 && page < 6));
  }
  CHECK(r.counters().evictions == 2);
  CHECK(r.counters().pages_out == 0);
}

/// Elements whose size is no power of two, some of which lie on two pages. GNSTOR_SEEDS and
/// GNSTOR_FIRST_SEED as `qp/seed_sweep.hpp` says.
// label: thorough
#include "lambda_kernel.hpp"
#include "pager_rig.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/array/cached_reader.hpp>

#include <doctest/doctest.h>

#include <cstring>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t share = 250;

using three_bytes = words_of<std::uint8_t, 3>;
using three_floats = words_of<std::uint32_t, 3>;
using three_words = words_of<std::uint64_t, 3>;
using five_words = words_of<std::uint64_t, 5>;

/// Frames for two pages of each of four lanes at once.
rig_shape shape_of(std::uint64_t seed) {
  return {.pages = 16,
          .frames = 8 + static_cast<std::uint32_t>(seed % 2),
          .delay = static_cast<std::uint32_t>(seed % 3)};
}
template <class T>
std::uint64_t count_of(const rig_shape& shape) {
  return 8ull * shape.page_words * shape.pages / sizeof(T) - 1;
}

template <class Rig>
std::string verdict(Rig& r, const std::string& thrown, host::options chosen) {
  if (!thrown.empty()) return thrown;
  if (r.lanes.wrong != 0) return "an element had a wrong value";
  if (r.lanes.failed != 0 || r.counters().first_error != 0) return "an access failed";
  std::string fault = r.quiet();
  if (fault.empty()) fault = r.run(chosen, 1, 32, flush_warps{}, r.view(), &r.lanes);
  if (fault.empty()) fault = r.quiet();
  if (fault.empty()) fault = r.flushed();
  return fault;
}

template <class T, class Rig>
std::string random_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  Rig r(shape, count_of<T>(shape));
  chosen.step_budget *= 10;
  const random_elements<T> kernel{.rounds = 8, .seed = static_cast<std::uint32_t>(chosen.seed)};
  return verdict(r, r.run(chosen, 2, 2, kernel, r.view(), r.expected.data(), &r.lanes), chosen);
}
template <class T, class Rig>
std::string served_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  Rig r(shape, count_of<T>(shape));
  pager_rig<T, Rig> p(r, shape, 1);
  chosen.step_budget *= 10;
  const random_elements<T> kernel{.rounds = 8, .seed = static_cast<std::uint32_t>(chosen.seed)};
  return verdict(r, p.run(chosen, 2, 2, kernel, p.view(), r.expected.data(), &r.lanes), chosen);
}

template <class T>
using on_disk = rig<T, false>;
template <class T>
using on_shared_disk = rig<T, true>;
template <class T>
using on_memory = mapped_rig<T>;

constexpr host::options seeded_once{.run = host::mode::seeded, .seed = 1};
template <class Rig, class View, class Body>
std::string run(Rig& r, std::uint32_t lanes, const View& view, Body body) {
  return r.run(seeded_once, 1, lanes, lambda_kernel<Body>{body}, view);
}

/// Every element of every kind of access, one lane.
template <class T>
void check_layout() {
  const rig_shape shape{};
  on_disk<T> r(shape, count_of<T>(shape));
  auto* content = reinterpret_cast<T*>(r.content.data());
  for (std::uint64_t i = 0; i < r.expected.size(); ++i) content[i] = element_of<T>(i);
  const auto view = r.view();
  cached_reader reader(view);
  for (std::uint64_t i = 0; i < view.size(); ++i) {
    CAPTURE(i);
    CHECK((view.load(i).value == element_of<T>(i)));
    CHECK((reader[i] == element_of<T>(i)));
    CHECK((view.load(simt::group::self(), i, true).value == element_of<T>(i)));
    CHECK(view.store(i, element_of<T>(7 * i + 3)).ok());
    view[i] += element_of<T>(i);
    r.expected[i] = element_of<T>(7 * i + 3) + element_of<T>(i);
    CHECK((static_cast<T>(view[i]) == r.expected[i]));
  }
  CHECK(view.load(view.size()).status == status::make(status_code::out_of_range, reporter::array));
  for (std::uint32_t p = 0; p < shape.pages; ++p) CHECK(view.flush(page_index(p)).ok());
  CHECK(r.flushed() == "");
  CHECK(r.quiet() == "");
}

// 12 bytes on pages of 64: element 5 lies on pages 0 and 1, 4 bytes and 8.
constexpr std::uint64_t on_two = 5;
constexpr status no_memory = status::make(status_code::no_memory, reporter::array);

}  // namespace

TEST_CASE("elements of any size lie one after another") {
  check_layout<three_bytes>();
  check_layout<three_floats>();
  check_layout<three_words>();
  check_layout<five_words>();
  check_layout<words_of<std::uint16_t, 31>>();
}

TEST_CASE("elements that straddle pages keep what their owner wrote, fast") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CHECK(random_run<three_bytes, on_disk<three_bytes>>({.seed = seed}) == "");
    CHECK(random_run<three_floats, on_memory<three_floats>>({.seed = seed}) == "");
    CHECK(random_run<five_words, on_disk<five_words>>({.seed = seed}) == "");
    CHECK(served_run<three_floats, on_disk<three_floats>>({.seed = seed}) == "");
    CHECK(served_run<five_words, on_memory<five_words>>({.seed = seed}) == "");
  }
}
TEST_CASE("elements that straddle pages keep what their owner wrote, seeded") {
  sweep(host::mode::seeded, share, random_run<three_floats, on_disk<three_floats>>);
  sweep(host::mode::seeded, share, random_run<five_words, on_memory<five_words>>);
  sweep(host::mode::seeded, share, served_run<three_floats, on_memory<three_floats>>);
}
TEST_CASE("elements that straddle pages keep what their owner wrote, weak") {
  sweep(host::mode::weak, share, random_run<three_words, on_shared_disk<three_words>>);
  sweep(host::mode::weak, share, random_run<five_words, on_memory<five_words>>);
  sweep(host::mode::weak, share, served_run<three_words, on_shared_disk<three_words>>);
}

TEST_CASE("a store that cannot have both pages changes neither") {
  for (const std::uint32_t failing : {0u, 1u}) {
    CAPTURE(failing);
    on_disk<three_floats> r(rig_shape{}, 60);
    auto* content = reinterpret_cast<three_floats*>(r.content.data());
    for (std::uint64_t i = 0; i < 60; ++i) content[i] = r.expected[i] = element_of<three_floats>(i);
    r.plan[failing] = disk_plan::fetch_fails;
    const auto view = r.view();
    const status media = fake_store<false>::media_error(page_index(failing));
    CHECK(view.store(on_two, {}) == media);
    CHECK(view.load(on_two).status == media);
    view[on_two] += three_floats{};
    CHECK(r.counters().first_error == media.pack());
    three_floats poison;
    std::memset(&poison, decltype(view)::poison_byte, sizeof poison);
    CHECK((static_cast<three_floats>(view[on_two]) == poison));
    CHECK(view.load(failing == 0 ? 8 : 2).status == status{});  // the other page
    CHECK(!r.word(1 - failing).is(page_word::dirty));
    CHECK(r.quiet() == "");
    CHECK(r.flushed() == "");
  }
}

TEST_CASE("an element on two pages is read with one frame, and not written") {
  on_disk<three_floats> r(rig_shape{.frames = 1, .timeout_ns = 200'000}, 60);
  auto* content = reinterpret_cast<three_floats*>(r.content.data());
  for (std::uint64_t i = 0; i < 60; ++i) content[i] = r.expected[i] = element_of<three_floats>(i);
  CHECK(run(r, 4, r.view(), [&](auto& lane, const auto& view) {
          const result<three_floats> got = view.load(on_two);
          CHECK((got && got.value == element_of<three_floats>(on_two)));
          const result<three_floats> again = view.load(lane.warp(), on_two, lane.thread() != 2);
          CHECK(again.status.ok());
          CHECK((again.value == (lane.thread() != 2 ? got.value : three_floats{})));
          CHECK(view.store(on_two, {}) == no_memory);
        }) == "");
  CHECK(r.quiet() == "");
  CHECK(r.flushed() == "");
}

TEST_CASE("lanes of one warp write elements on two pages of two arrays") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    on_disk<three_floats> a(rig_shape{}, 60), b(rig_shape{}, 60);
    const auto even = a.view(), odd = b.view();
    const auto body = [&](auto& lane, const auto&) {
      const bool is_even = lane.thread() % 2 == 0;
      const std::uint64_t i = on_two + 16 * (lane.thread() / 2);
      const three_floats x = (is_even ? a : b).expected[i] =
          element_of<three_floats>(i + lane.thread());
      lane.warp().sync();
      CHECK((is_even ? even : odd).store(i, x).ok());
    };
    CHECK(a.run({.run = host::mode::seeded, .seed = seed}, 1, 6,
                lambda_kernel<decltype(body)>{body}, even) == "");
    for (auto* r : {&a, &b}) {
      for (std::uint32_t p = 0; p < 12; ++p) CHECK(r->view().flush(page_index(p)).ok());
      CHECK(r->quiet() == "");
      CHECK(r->flushed() == "");
    }
  }
}

TEST_CASE("a pager is asked for both pages of an element that is prefetched") {
  const rig_shape shape{};
  on_disk<three_floats> r(shape, 60);
  pager_rig<three_floats, on_disk<three_floats>> p(r, shape, 1);
  CHECK(run(p, 1, p.view(), [&](auto&, const auto& view) {
          view.prefetch(on_two);
          view.prefetch(8);
        }) == "");
  CHECK(r.word(0).is(page_word::resident));
  CHECK(r.word(1).is(page_word::resident));
  CHECK(r.saw.fetches == 2);
  CHECK(r.quiet() == "");
}

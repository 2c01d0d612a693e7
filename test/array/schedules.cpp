/// Paging under contention on the host runtime. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as
/// `qp/seed_sweep.hpp` says.
// label: thorough
#include "qp/seed_sweep.hpp"
#include "rig.hpp"
#include "verdict.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t seeded_share = 1500;
constexpr std::uint64_t weak_share = 1500;

/// Two warps read and write elements of type T.
template <class T>
std::string random_run(host::options chosen) {
  const rig_shape shape = contended_shape(chosen.seed);
  rig<T, false> r(shape, 8ull * shape.page_words * shape.pages / sizeof(T) - 1);
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  return verdict(r,
                 r.run(chosen, 2, 16, random_elements<T>{.rounds = 3, .seed = seed}, r.view(),
                       r.expected.data(), &r.lanes),
                 chosen, flush_all{}, 4);
}

/// Two warps pin pages and use atomic words of them.
std::string pinned_run(host::options chosen) {
  const rig_shape shape = contended_shape(chosen.seed);
  rig<std::uint64_t, true> r(shape, 8 * shape.pages - 3);
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  return verdict(r,
                 r.run(chosen, 2, 8, pinned_words{.rounds = 4, .seed = seed}, r.view(),
                       r.disk_ref(), r.expected.data(), &r.lanes),
                 chosen, flush_all{}, 4);
}

/// Lanes read pages that come and go; only their versions tell a page that came back.
template <class Store>
std::string store_reading_run(host::options chosen) {
  const rig_shape shape{.pages = 2 + static_cast<std::uint32_t>(chosen.seed / 2 % 3),
                        .frames = 1 + static_cast<std::uint32_t>(chosen.seed % 2),
                        .page_words = 2};
  rig<std::uint64_t, true, Store> r(shape);
  for (std::uint64_t i = 0; i < r.expected.size(); ++i) r.content[i] = r.expected[i] = mix64(i);
  return verdict(r,
                 r.run(chosen, 3, 4, read_all{.rounds = 6}, r.view(),
                       static_cast<std::uint32_t>(chosen.seed), &r.lanes),
                 chosen, flush_all{}, 4);
}

/// Two warps read and write words that the weak mode sees.
template <class Store>
std::string words_run(host::options chosen) {
  const rig_shape shape = contended_shape(chosen.seed);
  rig<std::uint64_t, true, Store> r(shape, 8ull * shape.pages - 1);
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  return verdict(r,
                 r.run(chosen, 2, 16, random_elements<std::uint64_t>{.rounds = 3, .seed = seed},
                       r.view(), r.expected.data(), &r.lanes),
                 chosen, flush_all{}, 4);
}

constexpr auto& shared_words_run = words_run<fake_store<true>>;
constexpr auto& reading_run = store_reading_run<fake_store<true>>;

}  // namespace

TEST_CASE("every element keeps what its owner wrote, fast") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CHECK(random_run<std::uint8_t>({.seed = seed}) == "");
    CHECK(random_run<std::uint16_t>({.seed = seed}) == "");
    CHECK(random_run<std::uint32_t>({.seed = seed}) == "");
    CHECK(random_run<std::uint64_t>({.seed = seed}) == "");
    CHECK(random_run<wide>({.seed = seed}) == "");
    CHECK(pinned_run({.seed = seed}) == "");
  }
}

TEST_CASE("every element keeps what its owner wrote, seeded") {
  sweep(host::mode::seeded, seeded_share, random_run<std::uint32_t>);
}

TEST_CASE("pinned pages stay and keep their words, seeded") {
  sweep(host::mode::seeded, seeded_share, pinned_run);
}

TEST_CASE("pinned pages stay and keep their words, weak") {
  sweep(host::mode::weak, weak_share, pinned_run);
}

TEST_CASE("reads without a reference see their page alone on a disk, seeded") {
  sweep(host::mode::seeded, seeded_share, reading_run);
}

TEST_CASE("reads without a reference see their page alone on a disk, weak") {
  sweep(host::mode::weak, weak_share, reading_run);
}

TEST_CASE("elements on a disk are written and read by owners at once, weak") {
  sweep(host::mode::weak, weak_share, shared_words_run);
}

TEST_CASE("long pages that lanes fetch together keep what their owner wrote, seeded") {
  sweep(host::mode::seeded, seeded_share / 2, words_run<long_store>);
}

TEST_CASE("long pages that lanes fetch together are seen alone, weak") {
  sweep(host::mode::weak, weak_share / 2, words_run<long_store>);
  sweep(host::mode::weak, weak_share / 2, store_reading_run<long_store>);
}

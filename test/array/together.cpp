/// Loads that the lanes of a warp do together. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as
/// `qp/seed_sweep.hpp` says.
#include "lambda_kernel.hpp"
#include "pager_rig.hpp"
#include "qp/seed_sweep.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t share = 150;

using words = std::uint64_t;
using on_disk = rig<words, true>;
using on_memory = mapped_rig<words>;
using on_chunks = mapped_rig<words, small_chunks>;

/// Few pages of few words; each element says where it lies.
template <class Rig>
struct numbered_rig {
  explicit numbered_rig(std::uint64_t seed)
      : shape{.pages = 2 + static_cast<std::uint32_t>(seed / 2 % 5),
              .frames = 1 + static_cast<std::uint32_t>(seed % 3),
              .page_words = std::is_same_v<Rig, on_chunks> ? 8u : 2u},
        r(shape, std::uint64_t{shape.page_words} * shape.pages) {
    words* const content = content_of(r);
    for (std::uint64_t i = 0; i < r.expected.size(); ++i) content[i] = r.expected[i] = mix64(i);
  }
  rig_shape shape;
  Rig r;
};

template <class Rig>
std::string verdict(Rig& r, const std::string& thrown) {
  if (!thrown.empty()) return thrown;
  if (r.lanes.wrong != 0) return "an element had a wrong value";
  if (r.lanes.failed != 0) return "an access failed";
  return r.quiet();
}

template <class Rig>
std::string together_run(host::options chosen) {
  numbered_rig<Rig> t(chosen.seed);
  return verdict(t.r, t.r.run(chosen, 2, 8, read_together{.rounds = 4}, t.r.view(),
                              static_cast<std::uint32_t>(chosen.seed), &t.r.lanes));
}

template <class Rig>
std::string served_run(host::options chosen) {
  chosen.step_budget *= 10;  // with one frame a batch of faults brings one page
  numbered_rig<Rig> t(chosen.seed);
  pager_rig<words, Rig> p(t.r, t.shape, 1 + chosen.seed % 2);
  return verdict(t.r, p.run(chosen, 2, 8, read_together{.rounds = 4}, p.view(),
                            static_cast<std::uint32_t>(chosen.seed), &t.r.lanes));
}

constexpr host::options seeded_once{.run = host::mode::seeded, .seed = 1};
template <class Rig, class View, class Body>
std::string run(Rig& r, const View& view, Body body) {
  return r.run(seeded_once, 1, 32, lambda_kernel<Body>{body}, view);
}

}  // namespace

TEST_CASE("lanes that load together read what lies there, fast") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CHECK(together_run<on_disk>({.seed = seed}) == "");
    CHECK(together_run<on_memory>({.seed = seed}) == "");
    CHECK(together_run<on_chunks>({.seed = seed}) == "");
    CHECK(served_run<on_disk>({.seed = seed}) == "");
    CHECK(served_run<on_memory>({.seed = seed}) == "");
  }
}
TEST_CASE("lanes that load together read what lies there, seeded") {
  sweep(host::mode::seeded, share, together_run<on_disk>);
  sweep(host::mode::seeded, share, together_run<on_memory>);
  sweep(host::mode::seeded, share, served_run<on_disk>);
}
TEST_CASE("lanes that load together read what lies there, weak") {
  sweep(host::mode::weak, share, together_run<on_disk>);
  sweep(host::mode::weak, share, together_run<on_memory>);
  sweep(host::mode::weak, share, together_run<on_chunks>);
}
TEST_CASE("lanes that load together from a pager read what lies there, weak") {
  sweep(host::mode::weak, share, served_run<on_disk>);
  sweep(host::mode::weak, share, served_run<on_memory>);
}

TEST_CASE("a warp hands all its missing pages over before it waits for one") {
  const rig_shape shape{.timeout_ns = 100'000};
  on_disk r(shape);
  pager_rig<words, on_disk> p(r, shape, 1);
  p.begin();  // a pager that does not come
  status seen[32];
  CHECK(run(r, p.view(), [&](auto& lane, const auto& view) {
          const std::uint32_t t = lane.thread();
          seen[t] = view.load(lane.warp(), 8 * (t % 12), t != 0).status;
        }) == "");
  CHECK(seen[0].ok());
  for (int t = 1; t < 32; ++t)
    CHECK(seen[t] == status::make(status_code::timed_out, reporter::array));
  page_fault f;
  std::uint32_t handed = 0;
  while (p.faults().take(simt::group::self(), 0, f) != 0) ++handed;
  CHECK(handed == 12);
  for (std::uint32_t page = 0; page < 12; ++page) CHECK(r.word(page).references() == 0);
}

TEST_CASE("a warp whose pages do not all fit loads them with one frame") {
  const rig_shape shape{.frames = 1};
  on_disk r(shape);
  for (std::uint64_t i = 0; i < r.content.size(); ++i) r.content[i] = mix64(i);
  std::uint32_t right = 0;
  const auto body = [&](auto& lane, const auto& view) {
    const std::uint64_t i = 8 * (lane.thread() % 12) + lane.thread() % 8;
    const result<words> got = view.load(lane.warp(), i, true);
    if (got && got.value == mix64(i)) disk::add(right, 1);
  };
  pager_rig<words, on_disk> p(r, shape, 1);
  CHECK(run(p, p.view(), body) == "");
  CHECK(right == 32);
  CHECK(r.quiet() == "");
}

TEST_CASE("lanes that load together learn each its own failure") {
  const rig_shape shape{};
  on_disk r(shape, 93);
  r.plan[3] = disk_plan::fetch_fails;
  status seen[32];
  const auto body = [&](auto& lane, const auto& view) {
    const std::uint32_t t = lane.thread();
    seen[t] = view.load(lane.warp(), t < 4 ? 93 + t : t < 8 ? 24 + t : 8, t % 4 != 3).status;
  };
  const auto check = [&] {
    for (std::uint32_t t = 0; t < 32; ++t) {
      CAPTURE(t);
      if (t % 4 == 3 || t >= 8) {
        CHECK(seen[t].ok());
      } else if (t < 4) {
        CHECK(seen[t] == status::make(status_code::out_of_range, reporter::array));
      } else {
        CHECK(seen[t] == fake_store<true>::media_error(page_index(3)));
      }
    }
    CHECK(r.quiet() == "");
  };
  CHECK(run(r, r.view(), body) == "");
  check();
  on_disk again(shape, 93);
  again.plan[3] = disk_plan::fetch_fails;
  pager_rig<words, on_disk> p(again, shape, 1);
  CHECK(run(p, p.view(), body) == "");
  check();
  on_disk alone(shape, 93);
  pager_rig<words, on_disk> nobody(alone, shape, 1);
  CHECK(run(alone, nobody.view(), body) == "");
  for (std::uint32_t t = 4; t < 32; ++t)
    CHECK(seen[t].code == (t % 4 == 3 ? status_code::ok : status_code::not_ready));
  CHECK(alone.quiet() == "");
}

TEST_CASE("lanes that load together what is there take no reference") {
  // There is no room for one more: who takes it finds the page unusable.
  on_memory r(rig_shape{.timeout_ns = 100'000}, 96);
  r.content()[3] = 7;
  const auto view = r.view();
  for (std::uint64_t k = 0; k < page_word::most_references; ++k)
    REQUIRE(view.cache().hold(simt::group::self(), page_index(0), page_use::read, 1'000));
  const result<words> got = view.load(simt::group::self(), 3, true);
  CHECK(got.status.ok());
  CHECK(got.value == 7);
  for (std::uint64_t k = 0; k < page_word::most_references; ++k) view.cache().unpin(page_index(0));
  CHECK(r.quiet() == "");
}

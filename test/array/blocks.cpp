/// Pages held by whole blocks. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as `qp/seed_sweep.hpp` says.
#include "lambda_kernel.hpp"
#include "pager_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "verdict.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t share = 300;

using words = std::uint64_t;
using on_disk = rig<words, true>;
using on_memory = mapped_rig<words>;

disk watch(on_disk& r) { return r.disk_ref(); }
disk watch(on_memory& r) { return r.watch(); }

rig_shape shape_of(std::uint64_t seed) {
  return {.pages = 4, .frames = 1 + static_cast<std::uint32_t>(seed % 3), .page_words = 32};
}

/// Two blocks of a warp and a quarter.
template <class Rig>
std::string blocks_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  Rig r(shape, 32 * shape.pages - 3);
  chosen.step_budget *= 10;
  const words_of_blocks kernel{.rounds = 3, .seed = static_cast<std::uint32_t>(chosen.seed)};
  return verdict(r, r.run(chosen, 2, 40, kernel, r.view(), watch(r), r.expected.data(), &r.lanes),
                 chosen);
}
template <class Rig>
std::string served_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  Rig r(shape, 32 * shape.pages - 3);
  pager_rig<words, Rig> p(r, shape, 1);
  chosen.step_budget *= 10;
  const words_of_blocks kernel{.rounds = 3, .seed = static_cast<std::uint32_t>(chosen.seed)};
  return verdict(r, p.run(chosen, 2, 40, kernel, p.view(), watch(r), r.expected.data(), &r.lanes),
                 chosen);
}

template <class Body>
std::string run(on_disk& r, Body body) {
  return r.run({.run = host::mode::seeded, .seed = 1}, 1, 80, block_kernel<Body>{body}, r.view());
}

}  // namespace

TEST_CASE("pages held by blocks keep their words, fast") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CHECK(blocks_run<on_disk>({.seed = seed}) == "");
    CHECK(blocks_run<on_memory>({.seed = seed}) == "");
    CHECK(served_run<on_disk>({.seed = seed}) == "");
    CHECK(served_run<on_memory>({.seed = seed}) == "");
  }
}
TEST_CASE("pages held by blocks keep their words, seeded") {
  sweep(host::mode::seeded, share, blocks_run<on_disk>);
  sweep(host::mode::seeded, share, served_run<on_memory>);
}
TEST_CASE("pages held by blocks keep their words, weak") {
  sweep(host::mode::weak, share, blocks_run<on_disk>);
  sweep(host::mode::weak, share, blocks_run<on_memory>);
  sweep(host::mode::weak, share, served_run<on_disk>);
}

TEST_CASE("a block holds its page until its last thread is done, by one reference") {
  on_disk r(rig_shape{.frames = 1, .page_words = 128});
  for (std::uint64_t i = 0; i < r.content.size(); ++i) r.content[i] = mix64(i);
  std::uint32_t wrong = 0;
  CHECK(run(r, [&](auto& lane, const simt::block_group& block, const auto& view) {
          for (std::uint64_t i = 0; i < view.size(); i += 128) {
            const auto page = view.page(block, i);
            if (!page || page.count() != 128) disk::add(wrong, 1);
            if (r.word(static_cast<std::uint32_t>(i / 128)).references() != 1) disk::add(wrong, 1);
            for (std::uint32_t k = 0; k < lane.thread() % 7 * 10; ++k) lane.pause();
            if (page[i + lane.thread()] != mix64(i + lane.thread())) disk::add(wrong, 1);
          }
        }) == "");
  CHECK(wrong == 0);
  CHECK(r.quiet() == "");
}

TEST_CASE("every thread of a block learns why its page is not held") {
  on_disk r(rig_shape{.page_words = 128}, 1500);
  r.plan[3] = disk_plan::fetch_fails;
  std::uint32_t right = 0;
  CHECK(run(r, [&](auto&, const simt::block_group& block, const auto& view) {
          const auto failed = view.writable_page(block, 400);
          if (failed.outcome() == fake_store<true>::media_error(page_index(3)) &&
              !failed.holds(400))
            disk::add(right, 1);
          const auto beyond = view.page(block, 1500);
          if (beyond.outcome() == status::make(status_code::out_of_range, reporter::array))
            disk::add(right, 1);
          const auto last = view.overwritten_page(block, 1499);
          if (last && last.count() == 1500 - 11 * 128) disk::add(right, 1);
        }) == "");
  CHECK(right == 3 * 80);
  CHECK(r.saw.fetches == 2);
  CHECK(r.quiet() == "");
}

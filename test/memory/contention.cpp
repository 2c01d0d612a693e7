/// The allocator under contention on the host runtime. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as
/// `qp/seed_sweep.hpp` says.
#include "churn.hpp"
#include "pool_fixture.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Four blocks a level: the same steps as with sixteen, and every step many times in a short run.
using narrow = block_allocator<thread_scope_device, levels<4096, 16384, 65536>>;
using usual = block_allocator<thread_scope_device>;

constexpr std::uint64_t seeded_share = 2000;
constexpr std::uint64_t weak_share = 500;

/// Two warps of a device churn in one pool. Says what went wrong, or nothing.
template <class Allocator>
std::string churned(host::options chosen, std::uint64_t pool_bytes, churn<Allocator> body) {
  pool_fixture<Allocator> pool(pool_bytes);
  std::vector<std::uint32_t> owners(pool.blocks());
  std::vector<std::uint32_t> payload(pool.blocks());
  churn_record record;
  host::executor machine(chosen);
  machine.spawn(2, 32, body, pool.ref(), churn_marks{owners.data(), payload.data()}, &record);
  const std::string thrown = run_to_end(machine);
  if (!thrown.empty()) return thrown;
  if (record.not_ours != 0) return "a part had two owners";
  if (record.misplaced != 0) return "a part outside the pool, or too small";
  if (record.wrong_status != 0) return "a status other than ok and would_block";
  if (record.granted == 0) return "no request was granted";
  if (!pool.ref().is_whole()) return "a block was lost, or not merged";
  if (pool.ref().free_bytes() != pool_bytes) return "the pool's free bytes are wrong";
  return {};
}

/// Churns under the seeds of one mode.
template <class Allocator>
void sweep_churn(host::mode mode, std::uint64_t share, std::uint64_t pool_bytes,
                 churn<Allocator> body) {
  sweep(mode, share, [&](host::options chosen) {
    body.seed = static_cast<std::uint32_t>(chosen.seed);
    body.uniform = chosen.seed % 2 == 0;
    return churned(chosen, pool_bytes, body);
  });
}

/// Each lane takes and releases pages, and ends with one.
struct keep_a_page {
  struct shared {};
  template <class Lane>
  void operator()(Lane& lane, narrow pool, std::uint32_t* failures) const {
    for (std::uint32_t round = 0; round < 4; ++round) {
      const result<extent> part = pool.allocate(4096);
      lane.pause();
      if (round == 3 || !part) continue;
      if (!pool.release(part.value).ok())
        device_word<std::uint32_t>(*failures).fetch_add(1, relaxed);
    }
  }
};

/// Allocates pages until there are none; how many bytes are still free.
std::uint64_t left_after_draining(narrow pool, effort how) {
  for (bounded n{64}; n && pool.allocate(4096, how);) continue;
  return pool.free_bytes();
}

/// Two lanes release the same part at the same moment. A neighbour in use keeps the larger block
/// from merging.
struct release_twice {
  struct shared {};
  template <class Lane>
  void operator()(Lane&, narrow pool, extent part, std::uint32_t* done) const {
    bool released = false;
    try {
      released = pool.release(part).ok();
    } catch (const verify_error&) {  // a debug build
    }
    if (released) device_word<std::uint32_t>(*done).fetch_add(1, relaxed);
  }
};

}  // namespace

TEST_CASE("no part has two owners and none is lost, fast") {
  for (const bool uniform : {false, true}) {
    CAPTURE(uniform);
    CHECK(churned<narrow>({}, 4 * 65536, {.rounds = 50, .largest = 32, .uniform = uniform}) == "");
    CHECK(churned<usual>({}, 8 << 20, {.rounds = 50, .largest = 512, .uniform = uniform}) == "");
  }
}

TEST_CASE("no part has two owners and none is lost, seeded") {
  sweep_churn<narrow>(host::mode::seeded, seeded_share, 2 * 65536, {.rounds = 3, .largest = 16});
}

TEST_CASE("no part has two owners and none is lost, weak") {
  sweep_churn<narrow>(host::mode::weak, weak_share, 2 * 65536, {.rounds = 3, .largest = 16});
}

TEST_CASE("the usual levels hold under contention, seeded") {
  sweep_churn<usual>(host::mode::seeded, seeded_share / 20, 2 << 20, {.rounds = 3, .largest = 40});
}

TEST_CASE("a mark that is out of date hides no free block from a thorough request, seeded") {
  std::uint32_t stale = 0;
  sweep(host::mode::seeded, seeded_share, [&](host::options chosen) -> std::string {
    pool_fixture<narrow> pool(2 * 65536);
    std::uint32_t failures = 0;
    host::executor machine(chosen);
    machine.spawn(8, 3, keep_a_page{}, pool.ref(), &failures);
    const std::string thrown = run_to_end(machine);
    if (!thrown.empty()) return thrown;
    if (failures != 0) return "a release was refused";
    stale += left_after_draining(pool.ref(), effort::quick) != 0;
    return left_after_draining(pool.ref(), effort::thorough) != 0 ? "a free page is hidden" : "";
  });
  MESSAGE("seeds that left a stale mark: " << stale);
}

TEST_CASE("of two threads that release a part at the same moment one succeeds, seeded") {
  sweep(host::mode::seeded, seeded_share / 10, [](host::options chosen) -> std::string {
    pool_fixture<narrow> pool(65536);
    const result<extent> part = pool.ref().allocate(4096);
    const result<extent> neighbour = pool.ref().allocate(4096);
    if (!part || !neighbour) return "no room";
    std::uint32_t done = 0;
    host::executor machine(chosen);
    machine.spawn(2, 1, release_twice{}, pool.ref(), part.value, &done);
    const std::string thrown = run_to_end(machine);
    if (!thrown.empty()) return thrown;
    return done == 1 && pool.ref().usage().owned_bytes() == 4096 ? "" : "released twice";
  });
}

/// The allocator under contention on the host runtime. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as
/// `qp/seed_sweep.hpp` says.
#include "churn.hpp"
#include "pool_fixture.hpp"
#include "qp/seed_sweep.hpp"

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
  if (record.wrong_place != 0) return "a part outside the pool, or too small";
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
    return churned(chosen, pool_bytes, body);
  });
}

}  // namespace

TEST_CASE("no part has two owners and none is lost, fast") {
  CHECK(churned<narrow>({}, 4 * 65536, {.rounds = 50, .largest = 32}) == "");
  CHECK(churned<usual>({}, 8 << 20, {.rounds = 50, .largest = 512}) == "");
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

/// The allocator under contention on the host runtime. GNSTOR_SEEDS=N runs N seeds of each mode
/// instead of the usual share; seed S of a failure alone is GNSTOR_FIRST_SEED=S GNSTOR_SEEDS=1.
#include "churn.hpp"
#include "pool_fixture.hpp"
#include <gnstor/simt_host/executor.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <exception>
#include <string>

using namespace gnstor;
using namespace gnstor::test;
namespace host = simt::host;

namespace {

/// Four blocks a level: the same steps as with sixteen, and every step many times in a short run.
using narrow = block_allocator<thread_scope_device, levels<4096, 16384, 65536>>;
using usual = block_allocator<thread_scope_device>;

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t seeded_share = 20;
constexpr std::uint64_t weak_share = 20;
#else
constexpr std::uint64_t seeded_share = 2000;
constexpr std::uint64_t weak_share = 500;
#endif

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Two warps of a device churn in one pool. Says what went wrong, or nothing.
template <class Allocator>
std::string churned(host::options chosen, std::uint64_t pool_bytes, churn<Allocator> body) {
  pool_fixture<Allocator> pool(pool_bytes);
  std::vector<std::uint32_t> owners(pool.blocks());
  std::vector<std::uint32_t> payload(pool.blocks());
  churn_record record;
  host::executor machine(chosen);
  machine.spawn(2, 32, body, pool.ref(), churn_marks{owners.data(), payload.data()}, &record);
  try {
    machine.run();
  } catch (const std::exception& error) {
    return error.what();
  }
  if (record.not_ours != 0) return "a part had two owners";
  if (record.wrong_place != 0) return "a part outside the pool, or too small";
  if (record.wrong_status != 0) return "a status other than ok and would_block";
  if (record.granted == 0) return "no request was granted";
  if (!pool.ref().is_whole()) return "a block was lost, or not merged";
  if (pool.ref().free_bytes() != pool_bytes) return "the pool's free bytes are wrong";
  return {};
}

/// Runs the seeds of one mode; the first that fails is printed and ends the case.
template <class Allocator>
void sweep(host::mode mode, std::uint64_t share, std::uint64_t pool_bytes, churn<Allocator> body) {
  const std::uint64_t first = number_from("GNSTOR_FIRST_SEED", 1);
  const std::uint64_t count = number_from("GNSTOR_SEEDS", share);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    body.seed = static_cast<std::uint32_t>(seed);
    const std::string fault = churned({.run = mode, .seed = seed}, pool_bytes, body);
    CAPTURE(seed);
    REQUIRE(fault == "");
  }
}

}  // namespace

TEST_CASE("no part has two owners and none is lost, fast") {
  CHECK(churned<narrow>({}, 4 * 65536, {.rounds = 50, .largest = 32}) == "");
  CHECK(churned<usual>({}, 8 << 20, {.rounds = 50, .largest = 512}) == "");
}

TEST_CASE("no part has two owners and none is lost, seeded") {
  sweep<narrow>(host::mode::seeded, seeded_share, 2 * 65536, {.rounds = 3, .largest = 16});
}

TEST_CASE("no part has two owners and none is lost, weak") {
  sweep<narrow>(host::mode::weak, weak_share, 2 * 65536, {.rounds = 3, .largest = 16});
}

TEST_CASE("the usual levels hold under contention, seeded") {
  sweep<usual>(host::mode::seeded, seeded_share / 20, 2 << 20, {.rounds = 3, .largest = 40});
}

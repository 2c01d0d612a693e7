/// A pool that the host makes larger while kernels use it.
#include "growth.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/host/pool_expander.hpp>

#include <doctest/doctest.h>

#include <list>
#include <stdexcept>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using narrow_pool = expandable_pool<thread_scope_device, levels<4096, 16384, 65536>>;
template <class Pool>
using expander = gnstor::host::pool_expander<Pool>;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

/// Memory of a test's regions, with keys as `key_of` says.
template <class Pool>
class memory_source {
 public:
  typename expander<Pool>::supplied operator()(std::uint64_t bytes) {
    if (failures_ != 0) {
      --failures_;
      throw std::runtime_error("no memory region");
    }
    blocks_.emplace_back(bytes / 8 + 512);
    const auto address =
        (reinterpret_cast<std::uint64_t>(blocks_.back().data()) + 4095) / 4096 * 4096;
    const std::uint32_t key = key_of({.address = address, .bytes = bytes});
    return {address, key, ~key};
  }
  void fail(int times) { failures_ = times; }

 private:
  std::list<std::vector<std::uint64_t>> blocks_;
  int failures_ = 0;
};

/// A pool with its memory, on the host.
template <class Pool>
struct growing {
  memory_source<Pool> source;
  expander<Pool> owner;

  growing(std::uint64_t initial, std::uint64_t largest)
      : owner({.initial_bytes = initial, .max_bytes = largest},
              [this](std::uint64_t bytes) { return source(bytes); }) {}
};

/// The host's part: looks again and again whether kernels need more.
struct serve_pool {
  struct shared {};
  template <class Lane>
  void operator()(Lane& lane, expander<narrow_pool>* owner, std::uint32_t* stop) const {
    for (until wait{simt::within(60'000'000'000)}; wait;) {
      if (system_word<std::uint32_t>(*stop).load(acquire) != 0) return;
      (void)owner->serve();
      lane.pause();
    }
  }
};

/// Two blocks of a warp each hold more than the first region while the host serves. Says what went
/// wrong, or nothing.
std::string grown(simt::host::options chosen) {
  growing<narrow_pool> pool(64 * kib, 8 * 64 * kib);
  growth_record record;
  std::uint32_t stop = 0;
  // The table is the first thing in the pool's memory; a test's kernel reads it to check keys.
  const pool_table* const table = pool.owner.table();
  simt::host::executor machine(chosen);
  machine.spawn(2, 32, hold_together<narrow_pool>{.bytes = 4096, .rounds = 2}, pool.owner.ref(),
                table, &record);
  machine.serve_in(simt::domain::cpu, 1, 1, stop, serve_pool{}, &pool.owner, &stop);
  const std::string thrown = run_to_end(machine);
  if (!thrown.empty()) return thrown;
  if (record.gave_up != 0) return "a request waited for a second";
  if (record.granted != 2 * 32 * 2) return "a request was lost";
  if (record.wrong_key != 0) return "a buffer with keys of another region";
  if (record.not_ours != 0) return "a buffer had two owners";
  if (record.wrong_status != 0) return "a status other than ok and would_block";
  if (pool.owner.regions() < 2) return "the pool did not grow";
  const narrow_pool after = pool.owner.ref();
  for (std::uint32_t k = 0; k < after.regions(); ++k) {
    if (!after.region(k).allocator().is_whole()) return "a block was lost, or not merged";
  }
  return {};
}

}  // namespace

TEST_CASE("a pool doubles when a kernel found no room, and serves from all regions") {
  growing<expandable_pool<>> pool(2 * mib, 16 * mib);
  const expandable_pool<> kernel = pool.owner.ref();
  CHECK_FALSE(pool.owner.serve());  // nobody asked
  std::vector<io_buffer> held;
  for (std::uint32_t total : {2, 4, 8, 16}) {
    CHECK(pool.owner.bytes() == total * mib);
    for (std::size_t k = held.size(); k < total; ++k) {
      const result<io_buffer> buffer = kernel.allocate(mib);
      REQUIRE(buffer);
      held.push_back(buffer.value);
    }
    CHECK(kernel.allocate(1).status.code == status_code::would_block);
    CHECK(pool.owner.serve() == (total != 16));
    CHECK_FALSE(pool.owner.serve());
  }
  CHECK(pool.owner.regions() == 4);
  for (const io_buffer& buffer : held) CHECK(kernel.release(buffer).ok());
  for (std::uint32_t k = 0; k < 4; ++k) CHECK(kernel.region(k).allocator().is_whole());
}

TEST_CASE("a request larger than the pool gets a region that holds it") {
  growing<expandable_pool<>> pool(mib, 32 * mib);
  const expandable_pool<> kernel = pool.owner.ref();
  CHECK(kernel.allocate(5 * mib).status.code == status_code::would_block);
  CHECK(pool.owner.serve());
  CHECK(pool.owner.bytes() == 6 * mib);
  const result<io_buffer> buffer = kernel.allocate(5 * mib);
  REQUIRE(buffer);
  CHECK(kernel.release(buffer.value).ok());
  CHECK(kernel.allocate(0).status.code == status_code::invalid_argument);
  CHECK(kernel.allocate(16 * mib + 1).status.code == status_code::invalid_argument);
}

TEST_CASE("small requests stay in the oldest region that has room") {
  growing<expandable_pool<>> pool(mib, 8 * mib);
  const expandable_pool<> kernel = pool.owner.ref();
  REQUIRE(pool.owner.expand());
  for (int k = 0; k < 16; ++k) REQUIRE(kernel.allocate(64 * kib));
  CHECK(kernel.region(0).allocator().free_bytes() == 0);
  CHECK(kernel.region(1).allocator().is_whole());
}

TEST_CASE("a region that cannot be supplied leaves the pool as it was, and is asked for again") {
  growing<expandable_pool<>> pool(mib, 8 * mib);
  const expandable_pool<> kernel = pool.owner.ref();
  REQUIRE(kernel.allocate(mib));
  CHECK(kernel.allocate(4096).status.code == status_code::would_block);
  pool.source.fail(1);
  CHECK_THROWS_AS((void)pool.owner.serve(), std::runtime_error);
  CHECK(pool.owner.regions() == 1);
  CHECK(kernel.regions() == 1);
  CHECK(pool.owner.serve());
  CHECK(kernel.allocate(4096));
}

TEST_CASE("a pool keeps to its limits, and refuses sizes that cannot be") {
  growing<expandable_pool<>> pool(2 * mib, 5 * mib);
  CHECK_FALSE(pool.owner.expand(4 * mib));
  CHECK(pool.owner.expand());
  CHECK(pool.owner.expand());  // the last MiB: no whole doubling is left
  CHECK(pool.owner.bytes() == 5 * mib);
  CHECK_FALSE(pool.owner.expand());
  using small = growing<expandable_pool<>>;
  CHECK_THROWS_AS(small(0, mib), gnstor::host::input_error);
  CHECK_THROWS_AS(small(mib + 4096, 4 * mib), gnstor::host::input_error);
  CHECK_THROWS_AS(small(4 * mib, 2 * mib), gnstor::host::input_error);
}

TEST_CASE("a pool grows to as many regions as its table holds, and no further") {
  std::uint64_t next = 0x7f00'0000'0000;  // nobody touches this memory
  expander<narrow_pool> owner({.initial_bytes = 64 * kib, .max_bytes = 4096 * mib},
                              [&](std::uint64_t bytes) {
                                next += bytes;
                                return expander<narrow_pool>::supplied{next - bytes, 1, 2};
                              });
  for (std::uint32_t k = 1; k < pool_table::max_regions; ++k) {
    CHECK(owner.regions() == k);
    REQUIRE(owner.expand());
  }
  CHECK(owner.bytes() == std::uint64_t{64 * kib} << 15);
  CHECK_FALSE(owner.expand());
  CHECK(owner.ref().regions() == 16);
  for (std::uint32_t k = 0; k < 16; ++k) CHECK(owner.ref().region(k).allocator().is_whole());
}

TEST_CASE("a buffer of another pool, or one released twice, is refused") {
  growing<expandable_pool<>> pool(mib, 4 * mib);
  growing<expandable_pool<>> other(mib, 4 * mib);
  const auto refuses = [&](const io_buffer& buffer) {
    try {
      return pool.owner.ref().release(buffer).code == status_code::invalid_argument;
    } catch (const verify_error&) {
      return true;  // a debug build
    }
  };
  const result<io_buffer> foreign = other.owner.ref().allocate(4096);
  const result<io_buffer> ours = pool.owner.ref().allocate(4096);
  REQUIRE((foreign && ours));
  CHECK(refuses(foreign.value));
  io_buffer wrong_key = ours.value;
  wrong_key.rkey ^= 1;
  CHECK(refuses(wrong_key));
  CHECK(pool.owner.ref().release(ours.value).ok());
  CHECK(refuses(ours.value));
}

TEST_CASE("kernels take up regions that the host adds while they run, fast") {
  CHECK(grown({}) == "");
}

TEST_CASE("kernels take up regions that the host adds while they run, seeded") {
  sweep(simt::host::mode::seeded, 300, grown);
}

TEST_CASE("kernels take up regions that the host adds while they run, weak") {
  sweep(simt::host::mode::weak, 100, grown);
}

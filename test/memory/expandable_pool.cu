/// A pool that the host makes larger while a kernel of a GPU uses it.
#include "device_array.cuh"
#include "growth.hpp"
#include <gnstor/host/pool_expander.hpp>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstdint>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t mib = 1 << 20;

/// Regions are parts of memory that the kernel can reach from its launch on.
class reservation {
 public:
  explicit reservation(std::uint64_t bytes) : memory_(bytes / 8) {}

  gnstor::host::pool_expander<>::supplied operator()(std::uint64_t bytes) {
    const auto address = reinterpret_cast<std::uint64_t>(memory_.data()) + taken_;
    taken_ += bytes;
    const std::uint32_t key = key_of({.address = address, .bytes = bytes});
    return {address, key, ~key};
  }

 private:
  device_array<std::uint64_t> memory_;
  std::uint64_t taken_ = 0;
};

__global__ void run_hold(hold_together<expandable_pool<>> body, expandable_pool<> pool,
                         const pool_table* table, growth_record* record) {
  simt::lane<> lane;
  body(lane, pool, table, record);
}

}  // namespace

TEST_CASE("a running kernel takes up regions that the host adds") {
  reservation source(64 * mib);
  gnstor::host::pool_expander<> owner(
      {.initial_bytes = mib, .max_bytes = 64 * mib, .kernels = gnstor::host::place::device},
      [&](std::uint64_t bytes) { return source(bytes); });
  device_array<growth_record> record(1);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  // 4096 threads hold 8 KiB each at the same time: 32 MiB, if all blocks run together.
  const hold_together<expandable_pool<>> body{.bytes = 8192, .rounds = 20};
  run_hold<<<64, 64, 0, stream>>>(body, owner.ref(), owner.table(), record.data());
  REQUIRE(cudaGetLastError() == cudaSuccess);
  cudaError_t state = cudaErrorNotReady;
  for (until wait{simt::within(60'000'000'000)}; wait && state == cudaErrorNotReady;) {
    (void)owner.serve();
    state = cudaStreamQuery(stream);
  }
  REQUIRE(state == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);

  const growth_record seen = record.read()[0];
  MESSAGE("regions " << owner.regions() << ", " << (owner.bytes() / mib) << " MiB; granted "
                     << seen.granted << ", would_block " << seen.waited);
  CHECK(owner.regions() > 1);
  CHECK(seen.granted == 64 * 64 * 20);
  CHECK(seen.gave_up == 0);
  CHECK(seen.wrong_key == 0);
  CHECK(seen.not_ours == 0);
  CHECK(seen.wrong_status == 0);
}

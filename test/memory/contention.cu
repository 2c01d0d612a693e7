/// The allocator under contention on a GPU: the same body as on the host runtime.
#include "churn.hpp"
#include "device_array.cuh"
#include "pool_fixture.hpp"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using narrow = block_allocator<thread_scope_device, levels<4096, 16384, 65536>>;
using gpu_allocator = block_allocator<thread_scope_device>;

template <class Allocator>
__global__ void run_churn(churn<Allocator> body, Allocator allocator, churn_marks marks,
                          churn_record* record) {
  simt::lane<> lane;
  body(lane, allocator, marks, record);
}

template <class Allocator>
void churn_on_gpu(std::uint64_t pool_bytes, unsigned grid, unsigned block, churn<Allocator> body) {
  const std::size_t blocks = pool_bytes / Allocator::smallest_block;
  std::vector<std::uint64_t> words(Allocator::bytes_for(pool_bytes) / 8);
  Allocator::format(words.data(), pool_bytes);
  device_array<std::uint64_t> bitmap(words.size());
  bitmap.write(words);
  device_array<std::uint32_t> owners(blocks);
  device_array<std::uint32_t> payload(blocks);
  device_array<churn_record> record(1);

  run_churn<<<grid, block>>>(body, Allocator(bitmap.data(), pool_bytes),
                             churn_marks{owners.data(), payload.data()}, record.data());
  REQUIRE(cudaGetLastError() == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);

  const churn_record seen = record.read()[0];
  MESSAGE("granted " << seen.granted << ", would_block " << seen.refused);
  CHECK(seen.granted > 0);
  CHECK(seen.not_ours == 0);
  CHECK(seen.misplaced == 0);
  CHECK(seen.wrong_status == 0);
  words = bitmap.read();
  const Allocator after(words.data(), pool_bytes);
  CHECK(after.is_whole());
  CHECK(after.free_bytes() == pool_bytes);
}

}  // namespace

TEST_CASE("no part has two owners and none is lost, few blocks") {
  churn_on_gpu<narrow>(4 * 65536, 64, 128, {.rounds = 100, .largest = 32});
}

TEST_CASE("no part has two owners and none is lost, a channel's pool") {
  churn_on_gpu<gpu_allocator>(8 << 20, 132, 256, {.rounds = 100, .largest = 512});
}

TEST_CASE("no part has two owners and none is lost, lanes that ask together") {
  churn_on_gpu<gpu_allocator>(64 << 20, 132, 256, {.rounds = 200, .largest = 24, .uniform = true});
}

TEST_CASE("no part has two owners and none is lost, a large pool") {
  churn_on_gpu<gpu_allocator>(std::uint64_t{512} << 20, 132, 256, {.rounds = 200, .largest = 64});
}

/// This CPU and a GPU's kernels take turns on an array.
#include "array_access.hpp"
#include "gpu_node.hpp"

#include <cuda_runtime.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Uses a view until the host lets it end.
struct wait_for_host {
  template <class Lane, class View>
  __device__ void operator()(Lane& lane, View view, std::uint32_t* stop) const {
    if (lane.global_thread() == 0) view[0] = 77;
    if (lane.global_thread() != 0) return;
    for (until more{simt::within(10'000'000'000)}; more;) {
      if (atomic_ref<std::uint32_t, thread_scope_system>(*stop).load(acquire) != 0) break;
    }
  }
};

__global__ void store_plainly(gnstor::mapped_array<std::uint32_t> view) {
  if (threadIdx.x == 0) view[5] = 55;
}

}  // namespace

TEST_CASE("host and kernels of a GPU take turns on an array, and each finds what the other left") {
  for (const std::string& endpoint :
       {gpu_node("emu:?capacity=64M"), std::string("emu:?capacity=64M&resident=no")}) {
    CAPTURE(endpoint);
    volume_rig r(access_paging, endpoint.c_str());
    take_turns(r);
  }
  memory_rig r;
  take_turns(r);
  memory_rig small_pages({.frame_bytes = 32 * 512, .page_bytes = 512});
  take_turns(small_pages);
}

TEST_CASE("host access is refused while an executor's kernel uses the array on a GPU") {
  memory_rig r;
  const gnstor::host::memory_block stop(gnstor::host::place::pinned, 4);
  gnstor::host::executor kernels;
  kernels.spawn(1, 32, wait_for_host{}, r.array.view(), static_cast<std::uint32_t*>(stop.data()));
  kernels.run_async();
  CHECK_THROWS_AS((void)r.array.get(0), gnstor::host::io_error);
  CHECK_THROWS_AS(r.array.fill(0), gnstor::host::io_error);
  const std::uint32_t now = 1;
  stop.write(0, &now, sizeof now);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(r.array.get(0) == 77);  // it has ended, though nobody waited for its executor
  kernels.wait();
}

TEST_CASE("a host reads what a plain kernel of the default stream has stored, without a wait") {
  memory_rig r;
  store_plainly<<<1, 32>>>(r.array.view());
  CHECK(r.array.get(5) == 55);
  REQUIRE(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a GPU finds the pages that were prefetched in its stream") {
  memory_rig r;
  r.array.fill(4);
  r.array.prefetch_async(0, access_count, nullptr);
  r.array.check();
  CHECK(r.array.counters().pages_in == 10);
  CHECK(wrong_in_kernel(r, {.before = 4}) == access_count - 1);
  CHECK(r.array.counters().pages_in == 10);
}

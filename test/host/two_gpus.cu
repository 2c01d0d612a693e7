/// What takes two GPUs: arrays of both on one volume, and memory of the one that kernels of the
/// other reach through the emulated NIC.
#include "mapped_kernels.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/memory_array.hpp>

#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t elements = 1 << 20;
constexpr std::uint64_t right = elements * (elements - 1) / 2;

/// True, and says so, on a machine without a second GPU that the first one reaches.
bool lacks_second_gpu(const char* name) {
  int gpus = 0;
  int can = 0;
  if (cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 1 &&
      cudaDeviceCanAccessPeer(&can, 0, 1) == cudaSuccess && can != 0)
    return false;
  (void)cudaGetLastError();
  std::printf("skipped case: %s\n", name);
  return true;
}

/// Makes a GPU the calling thread's while it lives.
class on_gpu {
 public:
  explicit on_gpu(int device) {
    REQUIRE(cudaGetDevice(&before_) == cudaSuccess);
    REQUIRE(cudaSetDevice(device) == cudaSuccess);
  }
  ~on_gpu() { (void)cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

std::vector<std::uint32_t> numbers() {
  std::vector<std::uint32_t> v(elements);
  std::iota(v.begin(), v.end(), 0u);
  return v;
}

/// Adds up an array by kernels of `device`, which runs what `owner` has to run beside them.
template <class Array, class Owner>
std::uint64_t sum(int device, Array& a, Owner& owner) {
  const on_gpu here(device);
  const host::memory_block total(host::place::device, 8, device);
  host::executor kernels;
  kernels.spawn(16, 128, sum_up{}, a.view(), static_cast<std::uint64_t*>(total.data()));
  owner.attach(kernels);
  kernels.run();
  std::uint64_t value = 0;
  total.read(0, &value, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("kernels of two GPUs read one volume through arrays of their own") {
  if (lacks_second_gpu("kernels of two GPUs read one volume through arrays of their own")) return;
  for (const std::string where :
       {"emu:?capacity=16M&runner=gpu&sessions=2&nics=2", "emu:?capacity=16M&runner=cpu&sessions=2",
        "emu:?capacity=16M&runner=gpu&media=hbm&device=1&sessions=2"}) {
    CAPTURE(where);
    host::session first(where, {.device = 0});
    host::session second = first.join({.device = 1});
    const volume_info v = first.create_volume({.bytes = 4 * elements});
    first.write(v, 0, numbers().data(), 4 * elements);
    const host::array_options paging{.frame_bytes = elements, .page_bytes = 4096};
    host::array<std::uint32_t> a(first, first.open_read_only(v.vid), elements, paging);
    host::array<std::uint32_t> b(second, second.open_read_only(v.vid), elements, paging);
    CHECK(sum(0, a, first) == right);
    CHECK(sum(1, b, second) == right);
    std::uint64_t beside = 0;
    std::thread other([&] { beside = sum(1, b, second); });
    CHECK(sum(0, a, first) == right);
    other.join();
    CHECK(beside == right);
    CHECK(a.counters().evictions > 0);
    CHECK(b.counters().evictions > 0);
    const on_gpu here(1);
    b.close();
  }
}

TEST_CASE("an array's pages come from the memory of another GPU, and go back there") {
  if (lacks_second_gpu("an array's pages come from the memory of another GPU, and go back there"))
    return;
  for (const int device : {0, 1}) {
    CAPTURE(device);
    const on_gpu here(device);
    host::remote_memory memory("emu-memory:?bytes=4M&gpu=" + std::to_string(1 - device),
                               {.device = device});
    memory.write(0, numbers().data(), 4 * elements);
    host::memory_array<std::uint32_t> a(memory, elements,
                                        {.frame_bytes = elements, .page_bytes = 4096});
    CHECK(sum(device, a, memory) == right);
    host::executor kernels;
    kernels.spawn(16, 128, add_index{}, a.view());
    memory.attach(kernels);
    kernels.run();
    a.close();
    std::vector<std::uint32_t> back(elements);
    memory.read(0, back.data(), 4 * elements);
    std::uint64_t wrong = 0;
    for (std::uint32_t k = 0; k < elements; ++k) wrong += back[k] != 2 * k ? 1 : 0;
    CHECK(wrong == 0);
  }
}

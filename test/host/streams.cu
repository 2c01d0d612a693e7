/// Kernels and flushes in the order of a caller's stream, on a GPU.
#include "gpu_node.hpp"
#include "streams.hpp"

#include <cuda_runtime.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

__global__ void write_late(std::uint32_t* word, std::uint32_t value) {
  for (int k = 0; k < 2000; ++k) __nanosleep(1000);
  *word = value;
}

struct double_word {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, std::uint32_t* word) const {
    *word *= 2;
  }
};

}  // namespace

TEST_CASE("kernels and flushes keep the order of the caller's stream, on the GPU") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  for (const std::string& endpoint :
       {gpu_node("emu:?capacity=64M"), std::string("emu:?capacity=64M&resident=no")})
    rounds_on_a_stream(endpoint, stream);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("an executor's grid runs after and before what its caller's stream holds, on the GPU") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  std::uint32_t* word = nullptr;
  std::uint32_t* seen = nullptr;
  cudaStream_t stream = nullptr;
  REQUIRE(cudaMalloc(&word, 4) == cudaSuccess);
  REQUIRE(cudaMallocHost(&seen, 4) == cudaSuccess);
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  simt::cuda::executor machine(stream);
  write_late<<<1, 1, 0, stream>>>(word, 21);
  machine.spawn(1, 1, double_word{}, word);
  machine.run_async();
  REQUIRE(cudaMemcpyAsync(seen, word, 4, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(*seen == 42);
  machine.wait();
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  REQUIRE(cudaFreeHost(seen) == cudaSuccess);
  REQUIRE(cudaFree(word) == cudaSuccess);
}

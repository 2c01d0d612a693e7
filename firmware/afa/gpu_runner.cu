#include <afa/gpu_runner.hpp>
#include <afa/service.hpp>

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace gnstor::fw {
namespace {

constexpr std::uint32_t block_threads = 32 * service::most_warps;

__global__ void __launch_bounds__(block_threads, 1) serve(service s) {
  __shared__ service::shared memory;
  simt::lane<service::shared> lane(&memory);
  s(lane);
}

void check(cudaError_t outcome, const char* operation) {
  if (outcome != cudaSuccess) {
    throw std::runtime_error(std::string("array node on the GPU: ") + operation + ": " +
                             cudaGetErrorString(outcome));
  }
}

}  // namespace

struct gpu_runner::stream {
  cudaStream_t work = nullptr;
};

gpu_runner::gpu_runner(const node& n, int device)
    : node_(n), device_(device), stream_(std::make_unique<stream>()) {
  int before = 0;
  check(cudaGetDevice(&before), "asking for the current GPU");
  check(cudaSetDevice(device), "choosing the GPU");
  check(cudaStreamCreateWithFlags(&stream_->work, cudaStreamNonBlocking), "creating a stream");
  const std::uint32_t warps = block_threads / 32;
  serve<<<(n.shape.roles() + warps - 1) / warps, block_threads, 0, stream_->work>>>(service{n});
  check(cudaGetLastError(), "starting its kernel");
  check(cudaSetDevice(before), "restoring the GPU");
}

void gpu_runner::stop() {
  if (stream_->work == nullptr) return;
  system_word<std::uint32_t>(*node_.host_stop).store(1, release);
  check(cudaStreamSynchronize(stream_->work), "waiting for its end");
  (void)cudaStreamDestroy(stream_->work);
  stream_->work = nullptr;
}

gpu_runner::~gpu_runner() {
  try {
    stop();
  } catch (const std::exception&) {
    // A destructor has nobody to tell; `stop` is there for those who want to know.
  }
}

}  // namespace gnstor::fw

#include <afa/copy_service.hpp>
#include <afa/gpu_runner.hpp>
#include <afa/service.hpp>
#include <gnstor/simt/cuda_executor.cuh>

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace gnstor::fw {
namespace {

constexpr std::uint32_t engine_threads = 32 * service::most_warps;

__global__ void __launch_bounds__(engine_threads, 1) serve(service s) {
  __shared__ service::shared memory;
  simt::lane<service::shared> lane(&memory);
  s(lane);
}

__global__ void __launch_bounds__(copy_service::most_threads, 1) copy(copy_service s) {
  __shared__ copy_service::shared memory;
  simt::lane<copy_service::shared> lane(&memory);
  s(lane);
}

std::uint32_t blocks_for(std::uint32_t engines, std::uint32_t threads) {
  const std::uint32_t warps = threads / 32;
  return (engines + warps - 1) / warps;
}

void check(cudaError_t outcome, const char* operation) {
  if (outcome != cudaSuccess) {
    throw std::runtime_error(std::string("array node on the GPU: ") + operation + ": " +
                             cudaGetErrorString(outcome));
  }
}

}  // namespace

struct gpu_runner::streams {
  cudaStream_t copies = nullptr;
  cudaStream_t engines = nullptr;
};

gpu_runner::gpu_runner(const node& n, int device)
    : node_(n), device_(device), streams_(std::make_unique<streams>()) {
  int before = 0;
  check(cudaGetDevice(&before), "asking for the current GPU");
  check(cudaSetDevice(device), "choosing the GPU");
  // The copy workers do not end: a launch behind them that lacks room would never come back.
  for (const void* kernel :
       {reinterpret_cast<const void*>(&copy), reinterpret_cast<const void*>(&serve)})
    (void)simt::cuda::require_local_memory(kernel);
  for (cudaStream_t* s : {&streams_->copies, &streams_->engines})
    check(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking), "creating a stream");
  try {
    const std::uint32_t workers = n.shape.copy_workers;
    copy<<<blocks_for(workers, copy_service::most_threads), copy_service::most_threads, 0,
           streams_->copies>>>(copy_service{n});
    check(cudaGetLastError(), "starting its copy workers");
    serve<<<blocks_for(n.shape.roles() - workers, engine_threads), engine_threads, 0,
            streams_->engines>>>(service{n, workers});
    check(cudaGetLastError(), "starting its engines");
  } catch (...) {
    end();  // copy workers alone would run for ever
    throw;
  }
  check(cudaSetDevice(before), "restoring the GPU");
}

void gpu_runner::stop() {
  if (streams_->engines == nullptr) return;
  system_word<std::uint32_t>(*node_.host_stop).store(metadata_header::gpu_is_to_stop, release);
  for (cudaStream_t* s : {&streams_->copies, &streams_->engines}) {
    const cudaError_t ended = cudaStreamSynchronize(*s);
    // A process that ends unloads CUDA before its last objects: the kernels have ended with it.
    if (ended != cudaErrorCudartUnloading) check(ended, "waiting for its end");
    (void)cudaStreamDestroy(*s);
    *s = nullptr;
  }
}

void gpu_runner::end() noexcept {
  try {
    stop();
  } catch (const std::exception&) {
    // `stop` is there for those who want to know.
  }
}

gpu_runner::~gpu_runner() { end(); }

}  // namespace gnstor::fw

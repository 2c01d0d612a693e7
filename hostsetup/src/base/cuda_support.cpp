#include "cuda_support.hpp"

#include "no_gpu_side.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace gnstor::host {

#if defined(GNSTOR_WITH_CUDA)

namespace {

/// Lazy loading and a kernel that never ends deadlock at the first launch of another kernel. The
/// runtime reads this variable when it starts, so it is set before main.
const bool eager_loading = [] { return setenv("CUDA_MODULE_LOADING", "EAGER", 0) == 0; }();

void reach(int from, int to) {
  int can = 0;
  cuda_check(cudaDeviceCanAccessPeer(&can, from, to), "asking for peer access");
  if (can == 0) {
    throw error(fmt::format(
        "GPU {} cannot reach GPU {}'s memory: choose device= of a GPU on the same NVLink or PCIe "
        "switch, or device={}",
        from, to, from));
  }
  const device_scope here(from);
  const cudaError_t outcome = cudaDeviceEnablePeerAccess(to, 0);
  if (outcome != cudaErrorPeerAccessAlreadyEnabled) cuda_check(outcome, "enabling peer access");
  (void)cudaGetLastError();
  cudaMemPool_t pool = nullptr;
  cuda_check(cudaDeviceGetDefaultMemPool(&pool, to), "asking for a memory pool");
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = from;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  cuda_check(cudaMemPoolSetAccess(pool, &access, 1), "opening a memory pool to a peer");
}

/// Launching a kernel that needs more local memory than there is waits for all kernels, the node's
/// too: 3 KiB per thread are made room for while nothing runs, which is what the node takes, and
/// test/codegen/node_stack.py looks after.
void reserve_local_memory(int device) {
  constexpr std::size_t enough = 3072;
  const device_scope here(device);
  std::size_t there = 0;
  cuda_check(cudaDeviceGetLimit(&there, cudaLimitStackSize), "asking for the stack limit");
  if (there < enough)
    cuda_check(cudaDeviceSetLimit(cudaLimitStackSize, enough), "raising the stack limit");
}

}  // namespace

int gpu_count() {
  int count = 0;
  if (!eager_loading || cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  (void)cudaGetLastError();
  return count;
}

std::uint64_t free_memory(int device) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || device < 0 || device >= count) return 0;
  const device_scope here(device);
  std::size_t free = 0, all = 0;
  cuda_check(cudaMemGetInfo(&free, &all), "asking for free GPU memory");
  return free;
}

int multiprocessors(int device) {
  int count = 0;
  if (cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    count = 0;
  (void)cudaGetLastError();
  return count;
}

bool is_gpu_memory(const void* address) {
  cudaPointerAttributes what{};
  const bool known = cudaPointerGetAttributes(&what, address) == cudaSuccess;
  (void)cudaGetLastError();
  return known && what.type == cudaMemoryTypeDevice;
}

std::string pin(void* data, std::size_t bytes) {
  constexpr unsigned by_all = cudaHostRegisterMapped | cudaHostRegisterPortable;
  const cudaError_t outcome = cudaHostRegister(data, bytes, by_all);
  (void)cudaGetLastError();
  if (outcome != cudaSuccess) return cudaGetErrorString(outcome);
  void* there = nullptr;
  if (cudaHostGetDevicePointer(&there, data, 0) == cudaSuccess && there == data) return {};
  unpin(data);
  return "it has another address there";
}

void unpin(void* data) noexcept {
  (void)cudaHostUnregister(data);
  (void)cudaGetLastError();
}

void require_gpu(int device) {
  const int count = gpu_count();
  if (count == 0) throw error("no GPU: this machine has none that CUDA can use");
  if (device < 0 || device >= count) {
    throw input_error(
        fmt::format("GPU {} was asked for, and this machine has {}: use a device from 0 to {}",
                    device, count, count - 1));
  }
}

void prepare_gpus(int client, int node) {
  require_gpu(client);
  require_gpu(node);
  const char* loading = std::getenv("CUDA_MODULE_LOADING");
  if (loading != nullptr && std::string_view(loading) == "LAZY") {
    throw error(
        "CUDA_MODULE_LOADING=LAZY deadlocks beside the array node's kernel: unset it, or set it to "
        "EAGER");
  }
  reserve_local_memory(client);
  if (client != node) {
    reserve_local_memory(node);
    reach(client, node);
    reach(node, client);
  }
}

#else

int gpu_count() { return 0; }

int multiprocessors(int) { return 0; }

std::uint64_t free_memory(int) { return 0; }

bool is_gpu_memory(const void*) { return false; }

std::string pin(void*, std::size_t) { return no_gpu_side; }

void unpin(void*) noexcept {}

void require_gpu(int) { throw error(no_gpu_side); }

void prepare_gpus(int, int) { throw error(no_gpu_side); }

#endif

}  // namespace gnstor::host

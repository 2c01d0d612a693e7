#include "cuda_support.hpp"
#include "no_gpu_side.hpp"
#include <gnstor/host/memory_block.hpp>

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <mutex>
#include <utility>

namespace gnstor::host {
namespace {

void* allocate_host(std::size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw error(fmt::format("no {} bytes of host memory: use less, or free some", bytes));
  return p;
}

#if defined(GNSTOR_WITH_CUDA)
/// A stream for copies and allocations beside running kernels; one a device, for the life of the
/// process.
cudaStream_t side_stream(int device) {
  static std::mutex guard;  // of what follows: any threads open sessions
  static cudaStream_t streams[256] = {};
  const std::lock_guard lock(guard);
  if (streams[device] == nullptr) {
    cuda_check(cudaStreamCreateWithFlags(&streams[device], cudaStreamNonBlocking),
               "creating a stream");
  }
  return streams[device];
}

void* allocate_device(std::size_t bytes, int device) {
  const device_scope here(device);
  void* p = nullptr;
  const cudaError_t outcome = cudaMallocAsync(&p, bytes, side_stream(device));
  if (outcome != cudaSuccess) {
    throw error(
        fmt::format("no {} bytes of memory on GPU {}: {}; use fewer frames or a smaller array",
                    bytes, device, cudaGetErrorString(outcome)));
  }
  cuda_check(cudaMemsetAsync(p, 0, bytes, side_stream(device)), "clearing GPU memory");
  cuda_check(cudaStreamSynchronize(side_stream(device)), "clearing GPU memory");
  return p;
}

void* allocate_pinned(std::size_t bytes) {
  void* p = nullptr;
  const cudaError_t outcome = cudaHostAlloc(&p, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
  if (outcome != cudaSuccess) {
    require_gpu(0);
    throw error(fmt::format("no {} bytes of pinned host memory: {}; use a smaller capacity=", bytes,
                            cudaGetErrorString(outcome)));
  }
  std::memset(p, 0, bytes);
  return p;
}

void copy(int device, void* to, const void* from, std::size_t bytes, const char* what) {
  const device_scope here(device);
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, side_stream(device)), what);
  cuda_check(cudaStreamSynchronize(side_stream(device)), what);
}
#endif

/// Copies between host memory and memory at `where`.
void transfer(place where, [[maybe_unused]] int device, void* to, const void* from,
              std::size_t bytes, [[maybe_unused]] const char* what) {
  if (bytes == 0) return;
  if (where != place::device) {
    std::memcpy(to, from, bytes);
    return;
  }
#if defined(GNSTOR_WITH_CUDA)
  copy(device, to, from, bytes, what);
#endif
}

}  // namespace

memory_block::memory_block(place where, std::size_t bytes, int device)
    : bytes_((bytes + 4095) / 4096 * 4096), where_(where), device_(device) {
  if (bytes == 0) bytes_ = 4096;
  if (where == place::host) {
    data_ = allocate_host(bytes_);
    return;
  }
#if defined(GNSTOR_WITH_CUDA)
  data_ = where == place::device ? allocate_device(bytes_, device) : allocate_pinned(bytes_);
#else
  throw error(no_gpu_side);
#endif
}

memory_block::memory_block(place where, void* data, std::size_t bytes, int device,
                           std::function<void(void*)> release)
    : data_(data), bytes_(bytes), where_(where), device_(device), release_(std::move(release)) {}

memory_block::memory_block(memory_block&& other) noexcept { *this = std::move(other); }

memory_block& memory_block::operator=(memory_block&& other) noexcept {
  if (this != &other) {
    free();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    where_ = other.where_;
    device_ = other.device_;
    release_ = std::exchange(other.release_, nullptr);
  }
  return *this;
}

memory_block::~memory_block() { free(); }

void memory_block::free() noexcept {
  if (data_ == nullptr) return;
  if (release_) {
    release_(std::exchange(data_, nullptr));
    release_ = nullptr;
    return;
  }
  if (where_ == place::host) munmap(data_, bytes_);
#if defined(GNSTOR_WITH_CUDA)
  if (where_ == place::device) {
    (void)cudaFreeAsync(data_, side_stream(device_));
  } else if (where_ == place::pinned) {
    (void)cudaFreeHost(data_);
  }
#endif
  data_ = nullptr;
}

void memory_block::write(std::size_t offset, const void* from, std::size_t bytes) const {
  copy_in(where_, device_, static_cast<char*>(data_) + offset, from, bytes);
}

void memory_block::read(std::size_t offset, void* to, std::size_t bytes) const {
  copy_out(where_, device_, to, static_cast<const char*>(data_) + offset, bytes);
}

void copy_in(place where, int device, void* to, const void* from, std::size_t bytes) {
  transfer(where, device, to, from, bytes, "copying to GPU memory");
}

void copy_out(place where, int device, void* to, const void* from, std::size_t bytes) {
  transfer(where, device, to, from, bytes, "copying from GPU memory");
}

}  // namespace gnstor::host

#pragma once
/// Pages that threads of the CPU copy for a kernel, as systems do in which the GPU asks its host:
/// every warp asks for one page at a time by a word in host memory, and waits for the answer.

#include "../support/cuda_check.cuh"
#include "kernels.cuh"

#include <cuda/atomic>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace gnstor::benchmarks {

/// What one warp and its copier say to each other. One writes the one half, one the other.
struct copy_slot {
  alignas(64) std::uint64_t asked;  ///< page + 1, and bits 63:32 count the warp's requests
  alignas(64) std::uint64_t given;  ///< the same, once the page is in the warp's frame
};

/// The kernel's side (a reference, passed by value).
struct copiers_ref {
  copy_slot* slots;
  unsigned char* frames;
  std::uint32_t page_bytes;
  std::uint64_t first_turn;  ///< of a run: no request is like one before
  std::uint32_t* failed;     ///< warps that had no answer in time

  /// The bytes of page `p`; null if none came within ten seconds.
  /// @par Callers every lane of a warp, converged
  __device__ const uint4* page(const simt::group& warp, std::uint64_t p, std::uint64_t turn) const {
    const std::uint64_t number = thread_number() / 32;
    const std::uint64_t wanted = turn << 32 | (p + 1);
    bool came = true;
    if (warp.leads()) {
      cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(slots[number].asked)
          .store(wanted, cuda::memory_order_release);
      const cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system> given(slots[number].given);
      const std::uint64_t until = simt::now_ns() + 10'000'000'000;
      while (came && given.load(cuda::memory_order_acquire) != wanted)
        came = simt::now_ns() < until;
      if (!came)
        cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>(*failed).fetch_add(
            1, cuda::memory_order_relaxed);
    }
    came = warp.any(warp.leads() && came);
    warp.sync();
    return came ? reinterpret_cast<const uint4*>(frames + number * page_bytes) : nullptr;
  }
};

/// Every page once, a warp each, copied for it by the CPU.
__global__ void sum_copied(copiers_ref pages, page_order order, std::uint64_t* total) {
  const simt::group warp = simt::group::whole_warp();
  std::uint64_t sum = 0;
  std::uint64_t turn = pages.first_turn;
  for (std::uint64_t k = thread_number() / 32; k < order.pages; k += thread_count() / 32, ++turn) {
    const uint4* const words = pages.page(warp, order(k), turn);
    if (words == nullptr) break;
    for (std::uint32_t w = threadIdx.x % 32; w < pages.page_bytes / 16; w += 32)
      sum += sum_of(__ldcv(words + w));  // a frame changes behind the kernel's back
    warp.sync();
  }
  add_up(total, sum);
}

/// Up to 16 threads that copy. Each serves a share of the warps: all pages that these ask for at a
/// time go into one stream, and are answered together.
class cpu_copiers {
 public:
  /// @param data in pinned memory
  /// @param warps of the kernel
  cpu_copiers(const std::uint32_t* data, std::uint32_t page_bytes, std::uint32_t warps)
      : data_(reinterpret_cast<const unsigned char*>(data)),
        page_bytes_(page_bytes),
        warps_(warps) {
    cuda_check(cudaHostAlloc(&slots_, warps * sizeof(copy_slot), cudaHostAllocMapped), "slots");
    cuda_check(cudaHostAlloc(&failed_, 4, cudaHostAllocMapped), "slots");
    std::fill_n(slots_, warps, copy_slot{});
    *failed_ = 0;
    cuda_check(cudaMalloc(&frames_, std::uint64_t{warps} * page_bytes), "frames");
    for (std::uint32_t k = 0; k < threads(); ++k)
      copiers_.emplace_back([this, k](const std::stop_token& stop) { copy(stop, k); });
  }
  cpu_copiers(const cpu_copiers&) = delete;
  cpu_copiers& operator=(const cpu_copiers&) = delete;
  ~cpu_copiers() {
    copiers_.clear();
    (void)cudaFree(frames_);
    (void)cudaFreeHost(slots_);
    (void)cudaFreeHost(failed_);
  }

  std::uint32_t threads() const { return threads_; }
  /// For one run.
  copiers_ref ref() { return {slots_, frames_, page_bytes_, ++runs_ << 24, failed_}; }
  /// Throws if a copy failed, or a warp had no answer.
  void check() const {
    cuda_check(error_.load(), "copying a page");
    if (*failed_ != 0) throw std::runtime_error("a page was not copied in time");
  }

 private:
  void copy(const std::stop_token& stop, std::uint32_t mine) {
    cudaStream_t stream{};
    keep(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    std::vector<std::pair<std::uint32_t, std::uint64_t>> asked;
    while (!stop.stop_requested()) {
      asked.clear();
      for (std::uint32_t w = mine; w < warps_; w += threads()) {
        const std::uint64_t wants =
            std::atomic_ref(slots_[w].asked).load(std::memory_order_acquire);
        if (wants == std::atomic_ref(slots_[w].given).load(std::memory_order_relaxed)) continue;
        const std::uint64_t page = (wants & 0xffff'ffff) - 1;
        keep(cudaMemcpyAsync(frames_ + std::uint64_t{w} * page_bytes_, data_ + page * page_bytes_,
                             page_bytes_, cudaMemcpyHostToDevice, stream));
        asked.emplace_back(w, wants);
      }
      if (asked.empty()) continue;
      keep(cudaStreamSynchronize(stream));
      for (const auto& [w, wants] : asked)
        std::atomic_ref(slots_[w].given).store(wants, std::memory_order_release);
    }
    (void)cudaStreamDestroy(stream);
  }
  void keep(cudaError_t e) {
    if (e != cudaSuccess) error_.store(e);
  }

  const unsigned char* data_;
  std::uint32_t page_bytes_;
  std::uint32_t warps_;
  std::uint32_t threads_ = std::clamp(std::thread::hardware_concurrency(), 2u, 16u);
  std::uint64_t runs_ = 0;
  copy_slot* slots_ = nullptr;
  std::uint32_t* failed_ = nullptr;
  unsigned char* frames_ = nullptr;
  std::atomic<cudaError_t> error_{cudaSuccess};
  std::vector<std::jthread> copiers_;
};

}  // namespace gnstor::benchmarks

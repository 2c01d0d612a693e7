#pragma once
/// The memories that the same kernels run on: data in pinned host memory, paged by the kernels, as
/// managed memory, read in place, or copied to the GPU before.

#include "../support/cuda_check.cuh"
#include "../support/registration.hpp"
#include "graph/parallel.hpp"
#include "support/pointer_view.hpp"
#include <gnstor/host/mapped_array.hpp>

#include <benchmark/benchmark.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace gnstor::benchmarks {

enum class peer {
  array,        ///< `host::mapped_array`, cold
  uvm,          ///< managed memory that lies on the host before, without advice
  uvm_advised,  ///< the same, read-mostly
  zero_copy,    ///< pinned host memory, read in place
  bulk,         ///< device memory that all data is copied to before: the time includes that
};

/// The seconds of `work`, which waits for the GPU itself or leaves that to this.
template <class Work>
double seconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  cuda_check(cudaDeviceSynchronize(), "waiting for the GPU");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// `count` elements in pinned host memory, and copies of them for the peers.
template <class T>
class peer_data {
 public:
  explicit peer_data(std::uint64_t count)
      : memory_(std::make_unique<host::mapped_memory>(
            "host:?bytes=" + std::to_string(std::max<std::uint64_t>(count * sizeof(T), 4096)))),
        count_(count) {}
  peer_data(const peer_data&) = delete;
  peer_data& operator=(const peer_data&) = delete;
  ~peer_data() {
    (void)cudaFree(managed_);
    (void)cudaFree(device_);
  }

  T* host() const { return memory_->as<T>(); }
  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return count_ * sizeof(T); }

  /// The copy in device memory; its content is what `upload` or a kernel puts there.
  T* device() {
    if (device_ == nullptr) cuda_check(cudaMalloc(&device_, bytes()), "device copy");
    return device_;
  }
  void upload() {
    cuda_check(cudaMemcpyAsync(device(), host(), bytes(), cudaMemcpyHostToDevice), "bulk copy");
  }
  void download() {
    cuda_check(cudaMemcpyAsync(host(), device(), bytes(), cudaMemcpyDeviceToHost), "copy back");
    cuda_check(cudaDeviceSynchronize(), "copy back");
  }

  /// The copy in managed memory, brought to the host; what the GPU has of it is dropped.
  T* managed(bool advised) {
    if (managed_ == nullptr) populate();
    const cudaMemLocation cpu{.type = cudaMemLocationTypeHost, .id = 0};
    if (advised_) advise(cudaMemAdviseUnsetReadMostly, cpu);
    cuda_check(cudaMemPrefetchAsync(managed_, bytes(), cpu, 0, nullptr), "prefetch to the host");
    cuda_check(cudaDeviceSynchronize(), "prefetch to the host");
    if (advised) advise(cudaMemAdviseSetReadMostly, cpu);
    advised_ = advised;
    return managed_;
  }

  /// A new array on the host memory, none of whose pages is in GPU memory.
  std::unique_ptr<host::mapped_array<T>> array(std::uint32_t page_bytes,
                                               std::uint32_t frames_percent) {
    const std::uint64_t least = std::uint64_t{host::min_frames} * page_bytes;
    return std::make_unique<host::mapped_array<T>>(
        *memory_, count_,
        host::array_options{.frame_bytes = std::max(bytes() / 100 * frames_percent, least),
                            .page_bytes = page_bytes});
  }
  support::pointer_view<T> pointer(T* at, std::uint32_t page_bytes) const {
    return {at, count_, static_cast<std::uint32_t>(page_bytes / sizeof(T))};
  }

 private:
  void populate() {
    std::size_t room = 0, all = 0;
    cuda_check(cudaMemGetInfo(&room, &all), "free memory");
    if (bytes() > room) throw std::runtime_error("managed memory would be larger than the GPU's");
    cuda_check(cudaMallocManaged(&managed_, bytes()), "managed memory");
    constexpr std::uint64_t piece = 4 << 20;
    graph::for_each_index(
        graph::worker_count(0), (bytes() + piece - 1) / piece, [&](std::uint64_t k) {
          const std::uint64_t at = k * piece;
          std::memcpy(reinterpret_cast<char*>(managed_) + at,
                      reinterpret_cast<const char*>(host()) + at, std::min(piece, bytes() - at));
        });
  }
  void advise(cudaMemoryAdvise what, cudaMemLocation where) {
    cuda_check(cudaMemAdvise(managed_, bytes(), what, where), "advice");
  }

  std::unique_ptr<host::mapped_memory> memory_;
  std::uint64_t count_;
  T* managed_ = nullptr;
  bool advised_ = false;
  T* device_ = nullptr;
};

/// What one run came to; its result has been verified.
struct run_figures {
  double seconds = 0;
  std::uint64_t bytes_moved = 0;  ///< over the link, by an array's pages
  double work = 0;                ///< edges walked, or bytes needed
};

/// Bytes that an array moved in either direction.
template <class Array>
std::uint64_t bytes_moved(const Array& a, std::uint32_t page_bytes) {
  const auto c = a.counters();
  return (c.pages_in + c.pages_out) * page_bytes;
}

/// What the figures of a program are called.
struct figure_names {
  const char* rate;   ///< work per second, in 10^9
  const char* moved;  ///< bytes moved per work
};

/// Runs a program on every peer in turn, `GNSTOR_ROUNDS` times, and reports medians.
/// @param run called with a peer and the number of the round; returns `run_figures`, or throws if
/// the result is wrong
template <class Run>
void compare_peers(benchmark::State& state, const figure_names& names, const Run& run) {
  compared uvm, plain, zero_copy, bulk;
  std::vector<double> seconds, rates, moved;
  const std::uint64_t rounds = setting("GNSTOR_ROUNDS", 3);
  for (std::uint32_t k = 0; k < rounds; ++k) {
    const run_figures ours = run(peer::array, k);
    const double one = run(peer::uvm, k).seconds, two = run(peer::uvm_advised, k).seconds;
    uvm.add(1 / ours.seconds, 1 / std::min(one, two));
    plain.add(1 / ours.seconds, 1 / one);
    zero_copy.add(1 / ours.seconds, 1 / run(peer::zero_copy, k).seconds);
    bulk.add(1 / ours.seconds, 1 / run(peer::bulk, k).seconds);
    seconds.push_back(ours.seconds);
    rates.push_back(ours.work / ours.seconds / 1e9);
    moved.push_back(static_cast<double>(ours.bytes_moved) / ours.work);
    state.counters["GB_per_s"] = static_cast<double>(ours.bytes_moved) / ours.seconds / 1e9;
  }
  report_median(state, seconds);
  state.counters[names.rate] = median(rates);
  state.counters[names.moved] = median(moved);
  state.counters["uvm_ratio"] = uvm.ratio();
  state.counters["uvm_plain_ratio"] = plain.ratio();
  state.counters["zero_copy_ratio"] = zero_copy.ratio();
  state.counters["bulk_ratio"] = bulk.ratio();
}

}  // namespace gnstor::benchmarks

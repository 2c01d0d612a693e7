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
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
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

/// How many frames an array gets whose frames hold a share of its data.
inline std::uint64_t frames_for(std::uint64_t bytes, std::uint32_t page_bytes, double share) {
  const double pages = std::ceil(static_cast<double>(bytes) / page_bytes * share);
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(pages), host::min_frames);
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

  /// Leaves out all but the first `count` elements, before any copy is made.
  void shrink(std::uint64_t count) { count_ = count; }

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
  std::unique_ptr<host::mapped_array<T>> array(std::uint32_t page_bytes, double frames_share) {
    return std::make_unique<host::mapped_array<T>>(
        *memory_, count_,
        host::array_options{
            .frame_bytes = frames_for(bytes(), page_bytes, frames_share) * page_bytes,
            .page_bytes = page_bytes,
            .eviction = static_cast<eviction>(setting("GNSTOR_EVICTION", 0) % 3)});
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

/// How often the peers take turns.
inline std::uint64_t round_count() { return setting("GNSTOR_ROUNDS", 3); }

/// True if GNSTOR_PEERS, a list of names, has this one; without it all peers take part.
inline bool takes_part(const std::string& name) {
  const char* const chosen = std::getenv("GNSTOR_PEERS");
  return chosen == nullptr ||
         ("," + std::string(chosen) + ",").find("," + name + ",") != std::string::npos;
}

/// Times of the peers' rounds beside the array's.
class peer_times {
 public:
  explicit peer_times(std::string name) : name_(std::move(name)) {}
  /// @param seconds of the peer and of the array in the same round
  void add(double seconds, double array_seconds) {
    ratios_.push_back(seconds / array_seconds);
    seconds_ += seconds;
    array_seconds_ += array_seconds;
  }
  /// `NAME_ratio` is the median of the rounds' ratios, `NAME_sums_ratio` the ratio of the sums.
  void report(benchmark::State& state) const {
    if (ratios_.empty()) return;
    state.counters[name_ + "_ratio"] = median(ratios_);
    state.counters[name_ + "_sums_ratio"] = seconds_ / array_seconds_;
  }

 private:
  std::string name_;
  std::vector<double> ratios_;
  double seconds_ = 0;
  double array_seconds_ = 0;
};

/// For programs that no step copies anything for.
struct no_copied_steps {};

/// Runs a program on every peer in turn, and reports medians.
/// @param run called with a peer and the number of the round; returns `run_figures`, or throws if
/// the result is wrong
/// @param copied the same where steps copy what they need, called with whether this machine's cores
/// gather it, and the number of the round
template <class Run, class Copied = no_copied_steps>
void compare_peers(benchmark::State& state, const figure_names& names, std::uint64_t rounds,
                   const Run& run, const Copied& copied = {}) {
  peer_times uvm("uvm"), plain("uvm_plain"), zero_copy("zero_copy"), bulk("bulk");
  peer_times subgraph("subgraph"), by_cores("subgraph_by_cores");
  std::vector<double> seconds, rates, moved, link;
  for (std::uint32_t k = 0; k < rounds; ++k) {
    const run_figures ours = run(peer::array, k);
    if (takes_part("uvm")) {
      const double one = run(peer::uvm, k).seconds, two = run(peer::uvm_advised, k).seconds;
      uvm.add(std::min(one, two), ours.seconds);
      plain.add(one, ours.seconds);
    }
    if (takes_part("zero_copy")) zero_copy.add(run(peer::zero_copy, k).seconds, ours.seconds);
    if (takes_part("bulk")) bulk.add(run(peer::bulk, k).seconds, ours.seconds);
    if constexpr (!std::is_same_v<Copied, no_copied_steps>) {
      if (takes_part("subgraph")) {
        const double one = copied(true, k).seconds, two = copied(false, k).seconds;
        subgraph.add(std::min(one, two), ours.seconds);
        by_cores.add(one, ours.seconds);
      }
    }
    seconds.push_back(ours.seconds);
    rates.push_back(ours.work / ours.seconds / 1e9);
    moved.push_back(static_cast<double>(ours.bytes_moved) / ours.work);
    link.push_back(static_cast<double>(ours.bytes_moved) / ours.seconds / 1e9);
  }
  report_median(state, seconds);
  state.counters["rounds"] = static_cast<double>(rounds);
  state.counters[names.rate] = median(rates);
  state.counters[names.moved] = median(moved);
  state.counters["GB_per_s"] = median(link);
  for (const peer_times* each : {&uvm, &plain, &zero_copy, &bulk, &subgraph, &by_cores})
    each->report(state);
}

}  // namespace gnstor::benchmarks

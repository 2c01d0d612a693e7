#pragma once
/// Arrays of one kind of data on pinned host memory, their frames, and the same data as UVM.

#include "../support/cuda_check.cuh"
#include "../support/registration.hpp"
#include "kernels.cuh"
#include <gnstor/host/mapped_array.hpp>
#include <gnstor/host/memory_block.hpp>

#include <benchmark/benchmark.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace gnstor::benchmarks {

inline constexpr std::uint32_t blocks = 132 * 4;

/// The seconds that `work` takes on the GPU.
template <class Work>
double timed(const Work& work) {
  cudaEvent_t begin{}, end{};
  cuda_check(cudaEventCreate(&begin), "event");
  cuda_check(cudaEventCreate(&end), "event");
  cuda_check(cudaEventRecord(begin), "event");
  work();
  cuda_check(cudaGetLastError(), "launch");
  cuda_check(cudaEventRecord(end), "event");
  cuda_check(cudaEventSynchronize(end), "kernel");
  float ms = 0;
  cuda_check(cudaEventElapsedTime(&ms, begin, end), "event");
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  return ms / 1e3;
}

/// The same by this CPU's clock, for work that the CPU takes part in.
template <class Work>
double timed_by_clock(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  cuda_check(cudaGetLastError(), "launch");
  cuda_check(cudaDeviceSynchronize(), "kernel");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// One 64-bit word that kernels add to.
class tally {
 public:
  std::uint64_t* word() {
    constexpr std::uint64_t nothing = 0;
    word_.write(0, &nothing, sizeof nothing);
    return static_cast<std::uint64_t*>(word_.data());
  }
  std::uint64_t value() const {
    std::uint64_t v = 0;
    word_.read(0, &v, sizeof v);
    return v;
  }

 private:
  host::memory_block word_{host::place::device, 8, 0};
};

/// `count` elements in pinned host memory, and a sum of them that the CPU has not got from it.
class host_data {
 public:
  explicit host_data(std::uint64_t count)
      : memory_("host:?bytes=" + std::to_string(4 * count)), count_(count) {
    fill_elements<<<blocks, threads>>>(memory_.as<std::uint32_t>(), count);
    cuda_check(cudaDeviceSynchronize(), "fill");
    for (std::uint64_t i = 0; i < count; ++i) sum_ += element_at(i);
  }
  host::mapped_memory& memory() { return memory_; }
  std::uint32_t* data() { return memory_.as<std::uint32_t>(); }
  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return 4 * count_; }
  std::uint64_t sum() const { return sum_; }

 private:
  host::mapped_memory memory_;
  std::uint64_t count_;
  std::uint64_t sum_ = 0;
};

/// The same elements as managed memory, which lies on the host until the GPU touches it.
class managed_data {
 public:
  /// @param advised read-mostly
  managed_data(std::uint64_t count, bool advised) : count_(count), advised_(advised) {
    cuda_check(cudaMallocManaged(&data_, 4 * count), "managed memory");
    for (std::uint64_t i = 0; i < count; ++i) data_[i] = element_at(i);
  }
  managed_data(const managed_data&) = delete;
  managed_data& operator=(const managed_data&) = delete;
  ~managed_data() { (void)cudaFree(data_); }

  std::uint32_t* data() const { return data_; }
  std::uint64_t count() const { return count_; }
  /// Brings all of it back to the host, and drops the GPU's copies of pages that are read-mostly.
  void make_cold() const {
    if (advised_) advise(cudaMemAdviseUnsetReadMostly);
    cuda_check(cudaMemPrefetchAsync(data_, 4 * count_, host(), 0, nullptr), "prefetch");
    cuda_check(cudaDeviceSynchronize(), "prefetch");
    if (advised_) advise(cudaMemAdviseSetReadMostly);
  }

 private:
  void advise(cudaMemoryAdvise what) const {
    cuda_check(cudaMemAdvise(data_, 4 * count_, what, host()), "advice");
  }
  static cudaMemLocation host() { return {.type = cudaMemLocationTypeHost, .id = 0}; }

  std::uint32_t* data_ = nullptr;
  std::uint64_t count_;
  bool advised_;
};

/// Throws unless a sum is right: no figure without its data.
inline void require_sum(std::uint64_t is, std::uint64_t wanted, const char* what) {
  if (is == wanted) return;
  throw std::runtime_error(std::string(what) + ": the sum is " + std::to_string(is) + ", not " +
                           std::to_string(wanted));
}

/// Managed memory whose pages lie on the host, beside an array: without advice, and read-mostly.
class managed_peers {
 public:
  /// @param elements of each of the two
  managed_peers(std::uint64_t elements, std::uint32_t page, bool random)
      : plain_(elements, false),
        advised_(elements, true),
        order_{elements * 4 / page, random},
        page_(page) {
    for (std::uint64_t i = 0; i < elements; ++i) sum_ += element_at(i);
  }
  /// Reads every page of both once, cold.
  /// @param seconds that the array took for as many elements
  void add(double seconds) {
    const double one = pages_of(plain_), two = pages_of(advised_);
    better_.add(1 / seconds, 1 / std::min(one, two));
    plain_ratio_.add(1 / seconds, 1 / one);
    plain_rates_.push_back(4e-9 * static_cast<double>(plain_.count()) / one);
    advised_rates_.push_back(4e-9 * static_cast<double>(plain_.count()) / two);
  }
  void report(benchmark::State& state) const {
    state.counters["uvm_ratio"] = better_.ratio();
    state.counters["uvm_plain_ratio"] = plain_ratio_.ratio();
    state.counters["uvm_plain_GB_per_s"] = median(plain_rates_);
    state.counters["uvm_advised_GB_per_s"] = median(advised_rates_);
  }

 private:
  double pages_of(const managed_data& m) const {
    tally t;
    m.make_cold();
    const double s =
        timed([&] { sum_pages<<<blocks, threads>>>(m.data(), page_ / 4, order_, t.word()); });
    require_sum(t.value(), sum_, "uvm");
    return s;
  }

  managed_data plain_, advised_;
  page_order order_;
  std::uint32_t page_;
  std::uint64_t sum_ = 0;
  compared better_, plain_ratio_;
  std::vector<double> plain_rates_, advised_rates_;
};

using paged = host::mapped_array<std::uint32_t>;

/// Warps of a pager: GNSTOR_PAGER_WARPS, 0 for the default.
inline std::uint32_t pager_warps() {
  return static_cast<std::uint32_t>(setting("GNSTOR_PAGER_WARPS", 0));
}

/// The seconds that a kernel takes whose faults a pager serves: with the pager's start and end.
/// @param s of an array on a volume
template <class Array, class... Parameters>
double timed_beside_pager(host::session* s, Array& a, dim3 grid, dim3 block,
                          void (*kernel)(Parameters...), std::type_identity_t<Parameters>... args) {
  host::executor run;
  run.launch(grid, block, kernel, args...);
  if (s != nullptr) s->attach(run);
  a.attach(run, {.warps = pager_warps()});
  const auto begin = std::chrono::steady_clock::now();
  run.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline std::unique_ptr<paged> array_on(host_data& d, std::uint32_t page,
                                       std::uint64_t frame_bytes) {
  return std::make_unique<paged>(
      d.memory(), d.count(), host::array_options{.frame_bytes = frame_bytes, .page_bytes = page});
}

}  // namespace gnstor::benchmarks

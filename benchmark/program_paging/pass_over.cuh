#pragma once
/// Passes over an array in host memory: what streaming costs, and how fast the link is.

#include "graph_programs.cuh"
#include "page_traces.cuh"
#include <gnstor/core/hash.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <cstdint>
#include <stdexcept>

namespace gnstor::benchmarks {

/// The sum of all elements, a page per warp in turn, from the first page on or from the last one.
struct sum_of_pages {
  bool backwards;

  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane&, View view, std::uint64_t* sum) const {
    const auto warp = simt::group::whole_warp();
    const std::uint64_t per_page = view.elements_per_page();
    const std::uint64_t pages = (view.size() + per_page - 1) / per_page;
    std::uint64_t mine = 0;
    for (std::uint64_t k = simt::warp_number(); k < pages; k += simt::warp_count()) {
      const auto page = view.page(warp, (backwards ? pages - 1 - k : k) * per_page);
      if (!page) continue;  // the sum will be wrong
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
      for (std::uint32_t i = warp.thread_rank(); i < page.count(); i += 32)
        mine += page[page.first() + i];
    }
    device_word<std::uint64_t>(*sum).fetch_add(mine, relaxed);
  }
};

__device__ inline std::uint32_t streamed_word(std::uint64_t i) {
  return static_cast<std::uint32_t>(mix64(i));
}
__global__ void fill_streamed(std::uint32_t* at, std::uint64_t count) {
  for (std::uint64_t i = thread_number(); i < count; i += thread_count()) at[i] = streamed_word(i);
}
__global__ void sum_streamed(std::uint64_t count, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (std::uint64_t i = thread_number(); i < count; i += thread_count()) mine += streamed_word(i);
  atomicAdd(sum, mine);
}

/// The words that are passed over, GNSTOR_VECTOR of them.
class streamed_words {
 public:
  static streamed_words& get() {
    static streamed_words there(setting("GNSTOR_VECTOR", std::uint64_t{1} << 28));
    return there;
  }
  peer_data<std::uint32_t>& data() { return data_; }

  /// The seconds of so many passes, each against the order of the one before. Throws if a sum is
  /// wrong.
  template <class View>
  double pass(const View& view, std::uint32_t passes) {
    double seconds = 0;
    for (std::uint32_t k = 0; k < passes; ++k) {
      cuda_check(cudaMemset(sum_.data(), 0, 8), "clearing");
      kernels_.spawn(run_.grid, run_.block, sum_of_pages{k % 2 != 0}, view, sum_.data());
      seconds += seconds_of([&] { kernels_.run(); });
      if (sum_.at(0) != right_) throw std::runtime_error("a wrong sum of a pass");
    }
    return seconds;
  }
  /// The same on a new array whose frames hold a share of the words.
  run_figures pass_over_array(double share, std::uint32_t passes) {
    const auto a = data_.array(page_bytes(), share);
    run_figures f{0, 0, static_cast<double>(data_.bytes()) * passes};
    f.seconds = pass(a->view(), passes);
    f.bytes_moved = bytes_moved(*a, page_bytes());
    a->close();
    return f;
  }

 private:
  explicit streamed_words(std::uint64_t count) : data_(count), sum_(1), run_(shape()) {
    fill_streamed<<<blocks, threads>>>(data_.device(), count);
    cuda_check(cudaGetLastError(), "filling");
    data_.download();
    const scratch<unsigned long long> sum(1);
    cuda_check(cudaMemset(sum.data(), 0, 8), "clearing");
    sum_streamed<<<blocks, threads>>>(count, sum.data());
    cuda_check(cudaGetLastError(), "summing");
    right_ = sum.at(0);
  }

  peer_data<std::uint32_t> data_;
  scratch<std::uint64_t> sum_;
  std::uint64_t right_ = 0;
  support::kernel_shape run_;
  host::executor kernels_;
};

/// Bytes per second that SMs read from pinned host memory, now.
inline double link_rate() {
  auto& words = streamed_words::get();
  const double seconds = words.pass(words.data().pointer(words.data().host(), page_bytes()), 1);
  return static_cast<double>(words.data().bytes()) / seconds;
}

/// Behind `compare_peers`: the rate at which SMs read pinned memory, and what share of it the array
/// read at.
/// @param read the share of the bytes moved that were read
inline void report_link(benchmark::State& state, double read = 1) {
  const double rate = median({link_rate(), link_rate(), link_rate()}) / 1e9;
  state.counters["link_GB_per_s"] = rate;
  state.counters["link_ratio"] = state.counters["GB_per_s"] * read / rate;
}

}  // namespace gnstor::benchmarks

#pragma once
/// The pages that a program touches, recorded on the GPU, and what an optimal policy fetches of
/// them.

#include "../support/optimal_paging.hpp"
#include "../support/traced_view.hpp"
#include "graphs.cuh"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace gnstor::benchmarks {

/// Which pages of one array a run touched, in the order in which it did.
struct page_trace {
  std::vector<std::uint32_t> touches;
  std::uint32_t pages = 0;  ///< of the array
  std::uint64_t bytes = 0;  ///< of its data

  /// Bytes that an optimal policy fetches with frames for a share of the data.
  std::uint64_t optimal_bytes(std::uint32_t page_bytes, double share) const {
    return optimal_fetches(touches, pages, frames_for(bytes, page_bytes, share)) * page_bytes;
  }
};

/// Records one array's trace while kernels use `view()`, which reads its copy in device memory.
template <class T>
class trace_recording {
 public:
  /// @param fewest the frames of the smallest sweep: touches that repeat within half as many pages
  /// are left out
  trace_recording(peer_data<T>& data, std::uint32_t page_bytes, std::uint64_t fewest)
      : data_(&data),
        page_bytes_(page_bytes),
        pages_(static_cast<std::uint32_t>((data.bytes() + page_bytes - 1) / page_bytes)),
        room_(std::uint32_t{64} * pages_ + (1u << 26)),
        window_(static_cast<std::uint32_t>(fewest / 2)),
        noted_(pages_),
        touches_(room_),
        count_(1) {
    cuda_check(cudaMemset(noted_.data(), 0, pages_ * std::size_t{4}), "clearing");
    cuda_check(cudaMemset(count_.data(), 0, 4), "clearing");
  }
  traced_view<T> view() const {
    return {data_->pointer(data_->device(), page_bytes_),
            {noted_.data(), touches_.data(), count_.data(), room_, window_}};
  }
  page_trace finish() const {
    const std::uint32_t count = count_.at(0);
    if (count > room_)
      throw std::runtime_error("a trace of " + std::to_string(count) + " touches is too long");
    page_trace t{std::vector<std::uint32_t>(count), pages_, data_->bytes()};
    cuda_check(cudaMemcpy(t.touches.data(), touches_.data(), count * std::size_t{4},
                          cudaMemcpyDeviceToHost),
               "reading a trace");
    return t;
  }

 private:
  peer_data<T>* data_;
  std::uint32_t page_bytes_;
  std::uint32_t pages_;
  std::uint32_t room_;
  std::uint32_t window_;
  scratch<std::uint32_t> noted_, touches_, count_;
};

}  // namespace gnstor::benchmarks

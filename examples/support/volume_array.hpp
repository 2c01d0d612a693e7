#pragma once

#include "figures.hpp"
#include "scratch_volume.hpp"
#include <gnstor/host/array.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace support {

/// Starts the pager of an array beside kernels.
using start_pager = std::function<void(gnstor::host::executor&)>;
using pager_list = std::vector<start_pager>;

/// An array on a new volume of its own. The session outlives it.
///
/// On a GPU its kernels leave fetching to a pager, and so compile quickly and stay small; what the
/// host runtime runs fetches by itself.
template <class T>
class volume_array {
  static constexpr bool has_pager = gnstor::host::this_machine == gnstor::host::machine::gpu;

 public:
  using view_type = std::conditional_t<has_pager, gnstor::served_array<T>, gnstor::remote_array<T>>;

  /// @param pagers what starts the array's pager is added there
  volume_array(gnstor::host::session& s, std::uint64_t count,
               const gnstor::host::array_options& paging, pager_list& pagers)
      : paging_(paging),
        volume_(s, whole_pages(count * sizeof(T))),
        array_(std::make_shared<gnstor::host::array<T>>(s, volume_.info(), count, paging)) {
    if (has_pager) pagers.push_back(pager());
  }

  gnstor::host::array<T>& array() { return *array_; }
  view_type view() const {
    if constexpr (has_pager) {
      return array_->served_view();
    } else {
      return array_->view();
    }
  }
  std::uint32_t page_bytes() const { return paging_.page_bytes; }

 private:
  std::uint64_t whole_pages(std::uint64_t bytes) const {
    // A wrong page size is the array's to report.
    const std::uint64_t page = page_bytes() == 0 ? 1 : page_bytes();
    return (bytes + page - 1) / page * page;
  }

  /// Starts the pager beside kernels, as long as the array is there and open.
  start_pager pager() const {
    return [weak = std::weak_ptr(array_)](gnstor::host::executor& kernels) {
      const auto there = weak.lock();
      if (there && there->is_open()) there->attach(kernels, {.warps = 16});
    };
  }

  gnstor::host::array_options paging_;
  scratch_volume volume_;
  std::shared_ptr<gnstor::host::array<T>> array_;
};

/// Where an example's arrays lie: volumes of a session.
class on_volumes {
 public:
  template <class T>
  using array = volume_array<T>;

  explicit on_volumes(const std::string& endpoint) : session_(endpoint) {}

  template <class T>
  volume_array<T> make(std::uint64_t count, const gnstor::host::array_options& paging) {
    return volume_array<T>(session_, count, paging, pagers_);
  }
  /// Memory for what kernels share besides.
  gnstor::host::memory_block allocate(std::size_t bytes) { return session_.allocate(bytes); }
  void attach(gnstor::host::executor& kernels) const {
    session_.attach(kernels);
    for (const auto& start : pagers_) start(kernels);
  }

 private:
  gnstor::host::session session_;
  pager_list pagers_;
};

/// "32 for 128 pages of 64.00 KiB".
template <class Paged>
std::string frames_of(Paged& a) {
  return std::to_string(a.array().frames()) + " for " + std::to_string(a.array().pages()) +
         " pages of " + in_bytes(a.page_bytes());
}
template <class Paged>
void add_to(paging_figures& sum, Paged& a) {
  sum.add(a.array().statistics(), a.array().counters().first_error);
}

}  // namespace support

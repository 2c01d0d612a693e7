#pragma once

#include "figures.hpp"
#include "scratch_volume.hpp"
#include <gnstor/host/array.hpp>

#include <cstdint>
#include <string>

namespace support {

/// An array on a new volume of its own. The session outlives it.
template <class T>
class volume_array {
 public:
  volume_array(gnstor::host::session& s, std::uint64_t count,
               const gnstor::host::array_options& paging)
      : paging_(paging),
        volume_(s, whole_pages(count * sizeof(T))),
        array_(s, volume_.info(), count, paging) {}

  gnstor::host::array<T>& array() { return array_; }
  gnstor::remote_array<T> view() const { return array_.view(); }
  std::uint32_t page_bytes() const { return paging_.page_bytes; }

 private:
  std::uint64_t whole_pages(std::uint64_t bytes) const {
    // A wrong page size is the array's to report.
    const std::uint64_t page = page_bytes() == 0 ? 1 : page_bytes();
    return (bytes + page - 1) / page * page;
  }

  gnstor::host::array_options paging_;
  scratch_volume volume_;
  gnstor::host::array<T> array_;
};

/// Where an example's arrays lie: volumes of a session.
class on_volumes {
 public:
  template <class T>
  using array = volume_array<T>;

  explicit on_volumes(const std::string& endpoint) : session_(endpoint) {}

  template <class T>
  volume_array<T> make(std::uint64_t count, const gnstor::host::array_options& paging) {
    return volume_array<T>(session_, count, paging);
  }
  /// Memory for what kernels share besides.
  gnstor::host::memory_block allocate(std::size_t bytes) { return session_.allocate(bytes); }
  void attach(gnstor::host::executor& kernels) const { session_.attach(kernels); }

 private:
  gnstor::host::session session_;
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

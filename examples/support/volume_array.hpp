#pragma once

#include "figures.hpp"
#include "scratch_volume.hpp"
#include <gnstor/host/array.hpp>

#include <cstdint>

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

  scratch_volume& volume() { return volume_; }
  gnstor::host::array<T>& array() { return array_; }
  gnstor::remote_array<T> view() const { return array_.view(); }
  std::uint32_t page_bytes() const { return paging_.page_bytes; }

  void add_to(paging_figures& sum) const { sum.add(array_.counters(), page_bytes()); }

  /// "32 for 128 pages of 64.00 KiB".
  std::string frames() const {
    return std::to_string(array_.frames()) + " for " + std::to_string(array_.pages()) +
           " pages of " + in_bytes(page_bytes());
  }

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

}  // namespace support

#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/memory/scatter_list.hpp>

namespace gnstor::detail {

/// The memory of a scattered I/O, taken in pieces from its start on; as `buffer_cursor`.
class scatter_cursor {
 public:
  GNSTOR_HD explicit scatter_cursor(const scatter_list& list) : list_(list) {}

  GNSTOR_HD std::uint64_t total() const { return list_.bytes(); }
  GNSTOR_HD bool whole(std::uint32_t unit) const { return list_.whole(unit); }
  GNSTOR_HD std::uint32_t blocks(std::uint32_t limit) {
    for (; offset_ == list_.segments[at_].bytes; ++at_) offset_ = 0;
    const std::uint64_t n = (list_.segments[at_].bytes - offset_) / block_bytes;
    return n < limit ? static_cast<std::uint32_t>(n) : limit;
  }
  GNSTOR_HD io_buffer take(std::uint32_t n) {
    const std::uint64_t bytes = std::uint64_t{n} * block_bytes;
    const io_buffer part = list_.segments[at_].slice(offset_, bytes);
    offset_ += bytes;
    return part;
  }

 private:
  scatter_list list_;
  std::uint32_t at_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace gnstor::detail

#pragma once
/// The memory of an I/O, taken in pieces from its start on.

#include <gnstor/core/units.hpp>
#include <gnstor/memory/io_buffer.hpp>

namespace gnstor::detail {

/// One buffer.
class buffer_cursor {
 public:
  GNSTOR_HD explicit buffer_cursor(const io_buffer& buffer) : left_(buffer) {}

  GNSTOR_HD std::uint64_t total() const { return left_.bytes; }
  GNSTOR_HD bool whole(std::uint32_t) const { return true; }
  /// Blocks until the next boundary of the memory, at most `limit`.
  GNSTOR_HD std::uint32_t blocks(std::uint32_t limit) const { return limit; }
  /// The next `n` blocks.
  GNSTOR_HD io_buffer take(std::uint32_t n) {
    const std::uint64_t bytes = std::uint64_t{n} * block_bytes;
    const io_buffer part = left_.slice(0, bytes);
    left_ = left_.slice(bytes, left_.bytes - bytes);
    return part;
  }

 private:
  io_buffer left_;
};

/// An I/O that moves no data.
struct no_data_cursor {
  GNSTOR_HD std::uint64_t total() const { return ~std::uint64_t{0}; }
  GNSTOR_HD bool whole(std::uint32_t) const { return true; }
  GNSTOR_HD std::uint32_t blocks(std::uint32_t limit) const { return limit; }
  GNSTOR_HD io_buffer take(std::uint32_t) const { return io_buffer{}; }
};

}  // namespace gnstor::detail

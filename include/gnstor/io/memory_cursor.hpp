#pragma once
/// The memory of an I/O, taken in pieces from its start on.

#include <gnstor/core/units.hpp>
#include <gnstor/memory/scatter_list.hpp>

#include <concepts>

namespace gnstor::inline v0 {

/// Registered memory that blocks are read into or written from: in one place, or in several.
template <class M>
concept io_memory = std::same_as<M, io_buffer> || std::same_as<M, scatter_list>;

}  // namespace gnstor::inline v0

namespace gnstor::detail {

/// One buffer.
class buffer_cursor {
 public:
  GNSTOR_HD explicit buffer_cursor(const io_buffer& buffer) : left_(buffer) {}

  GNSTOR_HD std::uint64_t total() const { return left_.bytes; }
  GNSTOR_HD bool whole(std::uint32_t) const { return true; }
  /// Blocks of `1 << shift` bytes until the next boundary of the memory, at most `limit`.
  GNSTOR_HD std::uint32_t blocks(std::uint32_t limit, std::uint32_t) const { return limit; }
  /// The next `n` blocks.
  GNSTOR_HD io_buffer take(std::uint32_t n, std::uint32_t shift) {
    const std::uint64_t bytes = std::uint64_t{n} << shift;
    const io_buffer part = left_.slice(0, bytes);
    left_ = left_.slice(bytes, left_.bytes - bytes);
    return part;
  }

 private:
  io_buffer left_;
};

/// Segments, one after another.
class scatter_cursor {
 public:
  GNSTOR_HD explicit scatter_cursor(const scatter_list& list) : list_(list) {}

  GNSTOR_HD std::uint64_t total() const { return list_.bytes(); }
  GNSTOR_HD bool whole(std::uint32_t unit) const { return list_.whole(unit); }
  GNSTOR_HD std::uint32_t blocks(std::uint32_t limit, std::uint32_t shift) {
    for (; offset_ == list_.segments[at_].bytes; ++at_) offset_ = 0;
    const std::uint64_t n = (list_.segments[at_].bytes - offset_) >> shift;
    return n < limit ? static_cast<std::uint32_t>(n) : limit;
  }
  GNSTOR_HD io_buffer take(std::uint32_t n, std::uint32_t shift) {
    const std::uint64_t bytes = std::uint64_t{n} << shift;
    const io_buffer part = list_.segments[at_].slice(offset_, bytes);
    offset_ += bytes;
    return part;
  }

 private:
  scatter_list list_;
  std::uint32_t at_ = 0;
  std::uint64_t offset_ = 0;
};

/// An I/O that moves no data.
struct no_data_cursor {
  GNSTOR_HD std::uint64_t total() const { return ~std::uint64_t{0}; }
  GNSTOR_HD bool whole(std::uint32_t) const { return true; }
  GNSTOR_HD std::uint32_t blocks(std::uint32_t limit, std::uint32_t) const { return limit; }
  GNSTOR_HD io_buffer take(std::uint32_t, std::uint32_t) const { return io_buffer{}; }
};

GNSTOR_HD inline buffer_cursor cursor_of(const io_buffer& memory) { return buffer_cursor(memory); }
GNSTOR_HD inline scatter_cursor cursor_of(const scatter_list& memory) {
  return scatter_cursor(memory);
}

}  // namespace gnstor::detail

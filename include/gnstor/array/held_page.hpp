#pragma once

#include <gnstor/core/config.hpp>

#include <cuda/std/span>

#include <cstdint>

namespace gnstor::inline v0 {

/// The elements of a page that a `page_set` holds, by their index in the array.
/// @tparam T const if the page is held for reading
template <class T>
class held_page {
 public:
  GNSTOR_HD held_page(T* data, std::uint64_t first, std::uint32_t count)
      : data_(data), first_(first), count_(count) {}

  GNSTOR_HD T& operator[](std::uint64_t index) const { return data_[index - first_]; }
  /// True if element `index` of the array is on this page.
  GNSTOR_HD bool holds(std::uint64_t index) const { return index - first_ < count_; }
  /// Index of the page's first element, and how many there are; none if it is not held.
  GNSTOR_HD std::uint64_t first() const { return first_; }
  GNSTOR_HD std::uint32_t count() const { return count_; }
  /// All of them, from `first()` on.
  GNSTOR_HD cuda::std::span<T> span() const { return {data_, count_}; }

 private:
  T* data_;
  std::uint64_t first_;
  std::uint32_t count_;
};

}  // namespace gnstor::inline v0

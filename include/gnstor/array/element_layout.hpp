#pragma once

#include <gnstor/core/config.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/relaxed_bytes.hpp>

#include <cuda/std/bit>

#include <cstddef>

namespace gnstor::inline v0 {

/// Where the elements of an array lie in its pages: one after another, without gaps. Pure
/// arithmetic.
///
/// Elements whose size is a power of two never straddle pages, and their index is split by a shift;
/// of all others the byte is.
/// @tparam T up to a page in size: it lies on two at most
template <class T>
class element_layout {
 public:
  /// No element lies on two pages.
  static constexpr bool never_straddles = cuda::std::has_single_bit(sizeof(T));

  GNSTOR_HD constexpr explicit element_layout(std::uint32_t page_bytes)
      : shift_(static_cast<std::uint32_t>(
            cuda::std::countr_zero(never_straddles ? page_bytes / sizeof(T) : page_bytes))) {}

  GNSTOR_HD constexpr std::uint32_t page_bytes() const {
    return static_cast<std::uint32_t>(never_straddles ? sizeof(T) << shift_
                                                      : std::size_t{1} << shift_);
  }
  GNSTOR_HD constexpr std::uint64_t elements_per_page() const requires never_straddles {
    return std::uint64_t{1} << shift_;
  }
  /// Index of the first element on the page of `index`.
  GNSTOR_HD constexpr std::uint64_t first_beside(std::uint64_t index) const requires
      never_straddles {
    return index >> shift_ << shift_;
  }

  /// The page of an element's first byte.
  GNSTOR_HD constexpr page_index page_of(std::uint64_t index) const {
    return page_index(static_cast<std::uint32_t>(units(index) >> shift_));
  }
  /// An element's offset within that page.
  GNSTOR_HD constexpr std::uint32_t offset_of(std::uint64_t index) const {
    return static_cast<std::uint32_t>(in_page(index) * unit_bytes);
  }
  /// How many of an element's bytes lie on that page; the rest lies at the start of the next.
  GNSTOR_HD constexpr std::uint32_t bytes_there(std::uint64_t index) const {
    if constexpr (never_straddles) return sizeof(T);
    const std::uint32_t rest = page_bytes() - offset_of(index);
    return rest < sizeof(T) ? rest : static_cast<std::uint32_t>(sizeof(T));
  }
  GNSTOR_HD constexpr bool straddles(std::uint64_t index) const {
    return !never_straddles && bytes_there(index) != sizeof(T);
  }

  /// Where an element begins whose page lies in frame `f`.
  /// @param frames the bytes of frame 0
  GNSTOR_HD unsigned char* find(unsigned char* frames, frame_index f, std::uint64_t index) const {
    const std::uint64_t before = std::uint64_t{f.value} << shift_;
    return frames + (before | in_page(index)) * unit_bytes;
  }

 private:
  /// What is counted in: elements, or bytes.
  static constexpr std::uint64_t unit_bytes = never_straddles ? sizeof(T) : 1;

  GNSTOR_HD static constexpr std::uint64_t units(std::uint64_t index) {
    return never_straddles ? index : index * sizeof(T);
  }
  GNSTOR_HD constexpr std::uint64_t in_page(std::uint64_t index) const {
    return units(index) & ((std::uint64_t{1} << shift_) - 1);
  }

  std::uint32_t shift_;
};

static_assert(element_layout<std::uint32_t>(4096).page_of(1024) == page_index(1));
static_assert(element_layout<std::uint32_t>(4096).offset_of(1025) == 4);
static_assert(element_layout<char[12]>(4096).page_of(341) == page_index(0));
static_assert(element_layout<char[12]>(4096).bytes_there(341) == 4);
static_assert(element_layout<char[12]>(4096).page_of(342) == page_index(1));
static_assert(element_layout<char[12]>(4096).offset_of(342) == 8);

}  // namespace gnstor::inline v0

#pragma once
/// The ids of the library, each a type of its own.

#include <gnstor/core/config.hpp>

#include <compare>

namespace gnstor::inline v0 {

/// An integer id that cannot be mixed with another kind of id.
template <class Tag, class Integer>
struct strong_id {
  using integer = Integer;
  Integer value = 0;

  constexpr strong_id() = default;
  GNSTOR_HD constexpr explicit strong_id(Integer v) : value(v) {}
  GNSTOR_HD friend constexpr bool operator==(strong_id a, strong_id b) {
    return a.value == b.value;
  }
  GNSTOR_HD friend constexpr bool operator<(strong_id a, strong_id b) { return a.value < b.value; }
};

using volume_id =
    strong_id<struct volume_id_tag, std::uint16_t>;  ///< VID: unique in the array; 0 is reserved
using client_id =
    strong_id<struct client_id_tag, std::uint16_t>;    ///< bound to the association at Connect
using vba = strong_id<struct vba_tag, std::uint32_t>;  ///< volume block address, 4 KiB blocks
using ppa = strong_id<struct ppa_tag, std::uint32_t>;  ///< physical page address within one SSD
using ssd_index = strong_id<struct ssd_index_tag, std::uint16_t>;  ///< SSD within the array's epoch
using page_index = strong_id<struct page_index_tag, std::uint32_t>;  ///< page of an array
using frame_index =
    strong_id<struct frame_index_tag, std::uint32_t>;  ///< frame of GPU memory holding a page
using command_id = strong_id<struct command_id_tag, std::uint16_t>;  ///< NVMe command identifier

inline constexpr std::uint32_t block_bytes = 4096;  ///< one VBA block, one flash page

}  // namespace gnstor::inline v0

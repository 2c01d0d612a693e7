#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>

#include <type_traits>

namespace gnstor::fw {

/// One deallocation, as flash keeps it: what these blocks held before this sequence has ended.
struct trim_entry {
  std::uint64_t sequence = 0;    ///< of the shard; 0: no entry
  std::uint32_t generation = 0;  ///< incarnation of the volume
  vba first;                     ///< block
  std::uint32_t blocks = 0;      ///< how many
  std::uint32_t check = 0;       ///< over all of it and its place: a torn entry is none

  GNSTOR_HD constexpr std::uint64_t key(std::uint32_t k) const {
    return std::uint64_t{generation} << 32 | (first.value + k);
  }
  /// The value `check` must have in cell `place` of the journal.
  GNSTOR_HD constexpr std::uint32_t expected_check(std::uint32_t place) const {
    return static_cast<std::uint32_t>(mix64(mix64(sequence ^ std::uint64_t{place} << 40) ^ key(0) ^
                                            std::uint64_t{blocks} << 16) >>
                                      32);
  }
  GNSTOR_HD constexpr bool is_sound(std::uint32_t place) const {
    return sequence != 0 && check == expected_check(place);
  }
};

static_assert(sizeof(trim_entry) == 24 && std::is_trivially_copyable_v<trim_entry>);

}  // namespace gnstor::fw

#pragma once

#include <deengine/part_check.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>

#include <type_traits>

namespace gnstor::fw {

/// One deallocation, as flash keeps it: what these blocks held before this sequence has ended.
///
/// The last word is cleared before the others change and stored after them: without it there is no
/// entry, with it there is one, or it was damaged.
struct trim_entry {
  std::uint64_t sequence = 0;        ///< of the shard; 0: no entry
  std::uint32_t generation = 0;      ///< incarnation of the volume
  vba first;                         ///< block
  std::uint16_t blocks = 0;          ///< how many
  std::uint16_t sequence_check = 0;  ///< `part_check` of the sequence
  std::uint32_t check = 0;           ///< over all of it and its index

  GNSTOR_HD constexpr std::uint64_t key(std::uint32_t k) const {
    return std::uint64_t{generation} << 32 | (first.value + k);
  }
  /// The value `check` must have in cell `index` of the journal.
  GNSTOR_HD constexpr std::uint32_t expected_check(std::uint32_t index) const {
    return static_cast<std::uint32_t>(mix64(mix64(sequence ^ std::uint64_t{index} << 40) ^ key(0) ^
                                            std::uint64_t{blocks} << 16) >>
                                      32);
  }
  GNSTOR_HD constexpr bool is_sound(std::uint32_t index) const {
    return sequence != 0 && blocks != 0 && check == expected_check(index);
  }
  /// True if this was an entry and is none any more: something has changed it.
  GNSTOR_HD constexpr bool is_damaged(std::uint32_t index) const {
    const bool was_sealed = blocks != 0 || sequence_check != 0 || check != 0;
    const bool blank = sequence == 0 && key(0) == 0;
    return was_sealed && !blank && !is_sound(index);
  }
  /// Of a damaged entry: true if it was of the sequence that it says.
  GNSTOR_HD constexpr bool says_its_sequence() const {
    return sequence_check == part_check(sequence) && sequence != 0;
  }

  /// The entry for cell `index`.
  GNSTOR_HD static constexpr trim_entry of(std::uint64_t sequence, std::uint64_t first_key,
                                           std::uint32_t blocks, std::uint32_t index) {
    trim_entry e;
    e.sequence = sequence;
    e.generation = static_cast<std::uint32_t>(first_key >> 32);
    e.first = vba(static_cast<std::uint32_t>(first_key));
    e.blocks = static_cast<std::uint16_t>(blocks);
    e.sequence_check = part_check(sequence);
    e.check = e.expected_check(index);
    return e;
  }
};

static_assert(sizeof(trim_entry) == 24 && std::is_trivially_copyable_v<trim_entry>);

}  // namespace gnstor::fw

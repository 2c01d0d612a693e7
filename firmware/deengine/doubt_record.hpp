#pragma once

#include <gnstor/core/hash.hpp>

#include <type_traits>

namespace gnstor::fw {

/// What an SSD knows that it does not know, as flash keeps it: shards of which some metadata was
/// found damaged.
///
/// Such a shard cannot say that a block was never written: what it does not find may have been in
/// what was damaged. It answers media error, until the block is written, filled or deallocated
/// again. Made by a mount, and never changed while the SSD runs.
struct doubt_record {
  std::uint64_t shards = 0;  ///< by bit: shards that cannot vouch for what they do not find
  /// By bit: shards whose pages a mount was taking out, as it could vouch for none of them. A mount
  /// that finds one set was preceded by one that did not come to its end.
  std::uint64_t dropping = 0;
  std::uint32_t generation = 0;  ///< volumes of this incarnation or later came after the damage
  std::uint32_t check = 0;       ///< over all of the above

  GNSTOR_HD constexpr std::uint32_t expected_check() const {
    return static_cast<std::uint32_t>(mix64(mix64(shards ^ generation) ^ mix64(~dropping)) >> 32);
  }
  GNSTOR_HD constexpr bool is_sealed() const { return check == expected_check(); }

  GNSTOR_HD static constexpr doubt_record of(std::uint64_t shards, std::uint64_t dropping,
                                             std::uint32_t generation) {
    doubt_record r{shards, dropping, generation, 0};
    r.check = r.expected_check();
    return r;
  }

  /// True if a block of that incarnation, which the shard does not find, may have been written.
  GNSTOR_HD constexpr bool covers(std::uint32_t shard, std::uint32_t incarnation) const {
    return (shards >> shard & 1) != 0 && incarnation < generation;
  }
};

static_assert(sizeof(doubt_record) == 24 && std::is_trivially_copyable_v<doubt_record>);

}  // namespace gnstor::fw

#pragma once

#include <gnstor/core/units.hpp>

#include <type_traits>

namespace gnstor::fw {

/// A checked command: why it is refused, or which blocks of which incarnation of a volume it may
/// touch.
///
/// The engine's data calls take this and no VID, so that a volume that is deleted and created anew
/// between the check and the data call is never touched by a command admitted to the old one.
struct admission {
  std::uint16_t status = 0;  ///< NVMe status field; 0: admitted, and the rest is valid
  volume_id vid;
  std::uint16_t shard = 0;  ///< whose owner must make the data calls
  std::uint16_t blocks = 0;
  std::uint32_t generation = 0;  ///< incarnation of the volume
  std::uint32_t changes = 0;     ///< of rights and epochs when the check was made
  vba first;
  std::uint32_t dirties = 0;  ///< of a write: as `dirty_log::mark` takes it

  GNSTOR_HD constexpr bool ok() const { return status == 0; }
  /// The mapping key of the command's block `k`.
  GNSTOR_HD constexpr std::uint64_t key(std::uint32_t k) const {
    return std::uint64_t{generation} << 32 | (first.value + k);
  }
};

static_assert(sizeof(admission) == 24 && std::is_trivially_copyable_v<admission>);

/// In whose name a write was admitted: asked again before it is committed, if anything has changed.
struct write_claim {
  client_id client;
  std::uint32_t epoch = 0;  ///< of the command
};

}  // namespace gnstor::fw

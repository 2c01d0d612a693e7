#pragma once

#include <deengine/geometry.hpp>
#include <deengine/membership_record.hpp>
#include <deengine/write_through.hpp>

namespace gnstor::fw {

/// The first bytes of an SSD's metadata block: what it is, and whose.
struct alignas(128) metadata_header {
  static constexpr std::uint64_t right_magic = 0x656e69676e456564;  ///< "deEngine"
  static constexpr std::uint32_t right_version = 7;

  // What `gpu_stop` says:
  static constexpr std::uint32_t gpu_at_work = 0;
  static constexpr std::uint32_t gpu_at_rest = 1;  ///< and its process saw that
  static constexpr std::uint32_t gpu_is_to_stop = 2;

  std::uint64_t magic = right_magic;
  std::uint32_t version = right_version;
  std::uint32_t self = 0;       ///< index of this SSD in the array
  std::uint32_t ssd_count = 0;  ///< SSDs of the array
  std::uint32_t epoch = 0;      ///< atomic: array epoch; a write of another one is refused
  geometry shape;
  std::uint32_t deletions = 0;        ///< atomic: volumes deleted so far
  std::uint32_t next_generation = 1;  ///< the admin owner's: incarnation of the next volume added
  std::uint32_t credit = 0;           ///< atomic: pages that may yet be mapped, by any shard
  /// Atomic: changes after which an admitted write may no longer be allowed, so far.
  std::uint32_t changes = 0;
  std::uint64_t moved = 0;  ///< atomic: pages that garbage collection has moved
  std::uint32_t read_epoch =
      0;  ///< atomic: the same for reads; 0 while the SSD is filled or absent
  std::uint32_t checkpoint = 0;     ///< seal of an SSD that was stopped in order; 0: none
  membership_record membership[2];  ///< one is of `epoch`
  /// Atomic, SSD 0's: what a GPU that stores to this flash looks at. It may go on for a moment
  /// after its process was killed: who mounts the flash tells it to stop, and gives it time to
  /// look.
  std::uint32_t gpu_stop = gpu_at_rest;
  write_through through;  ///< of a copy: where flash is

  /// Where the membership of the present epoch is.
  GNSTOR_HD constexpr std::uint32_t membership_at(std::uint32_t now) const {
    return membership[0].epoch == now ? 0 : 1;
  }
};

static_assert(sizeof(metadata_header) == 256 && std::is_trivially_copyable_v<metadata_header>);

}  // namespace gnstor::fw

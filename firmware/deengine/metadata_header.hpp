#pragma once

#include <deengine/array_name.hpp>
#include <deengine/doubt_record.hpp>
#include <deengine/flush_numbers.hpp>
#include <deengine/geometry.hpp>
#include <deengine/membership_record.hpp>
#include <deengine/write_through.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>

namespace gnstor::fw {

/// The first bytes of an SSD's metadata block: what it is, and whose.
struct alignas(128) metadata_header {
  static constexpr std::uint64_t right_magic = 0x656e69676e456564;  ///< "deEngine"
  static constexpr std::uint32_t right_version = 10;

  // What `gpu_stop` says:
  static constexpr std::uint32_t gpu_at_work = 0;
  static constexpr std::uint32_t gpu_at_rest = 1;  ///< and its process saw that
  static constexpr std::uint32_t gpu_is_to_stop = 2;

  std::uint64_t magic = right_magic;
  std::uint32_t version = right_version;
  std::uint32_t self = 0;       ///< index of this SSD in the array
  std::uint32_t ssd_count = 0;  ///< SSDs of the array
  std::uint32_t identity = 0;   ///< check over all of the above, and the shape
  geometry shape;
  std::uint32_t epoch = 0;            ///< atomic: array epoch; a write of another one is refused
  std::uint32_t deletions = 0;        ///< atomic: volumes deleted so far
  std::uint32_t next_generation = 1;  ///< the admin owner's: incarnation of the next volume added
  std::uint32_t credit = 0;           ///< atomic: pages that may yet be mapped, by any shard
  /// Atomic: changes after which an admitted write may no longer be allowed, so far.
  std::uint32_t changes = 0;
  std::uint64_t moved = 0;  ///< atomic: pages that garbage collection has moved
  /// Atomic: the same for reads; 0 while the SSD is filled or absent.
  std::uint32_t read_epoch = 0;
  std::uint32_t boot = 0;           ///< `ssd_identity::boot` of who wrote here last
  std::uint64_t checkpoint = 0;     ///< `seal` of an SSD that was stopped in order
  membership_record membership[2];  ///< one is of `epoch`
  doubt_record doubts = doubt_record::of(0, 0, 0);
  /// Atomic, SSD 0's: what a GPU that stores to this flash looks at. It may go on for a moment
  /// after its process was killed: who mounts the flash tells it to stop, and gives it time to
  /// look.
  std::uint32_t gpu_stop = gpu_at_rest;
  write_through through;   ///< of a copy: where flash is
  std::uint64_t term = 0;  ///< atomic, the admin owner's: the latest manager's, in flash
  /// The admin owner's, in flash: who stands in for others, in the epoch of the membership of the
  /// same number, which vouches for it.
  wire::afa::stand_ins others[2];
  /// Atomic: the place whose blocks belong here. Its own, unless this SSD stands in for another.
  std::uint32_t place = 0;
  array_name array;  ///< in flash
  flush_numbers flushes;

  /// The value `identity` must have.
  GNSTOR_HD constexpr std::uint32_t expected_identity() const {
    const std::uint64_t who = std::uint64_t{self} << 32 | ssd_count;
    const std::uint64_t size = std::uint64_t{shape.pages} << 32 | shape.pages_per_block;
    const std::uint64_t most = std::uint64_t{shape.shards} << 32 | shape.max_volumes;
    return static_cast<std::uint32_t>(mix64(mix64(mix64(magic ^ version ^ who) ^ size) ^ most));
  }
  /// Makes this SSD one of an array of `count` SSDs, in one store.
  void join(std::uint32_t count) {
    metadata_header h = *this;
    h.ssd_count = count;
    h.identity = h.expected_identity();
    std::uint64_t both = 0;
    memcpy(&both, &h.ssd_count, sizeof both);
    auto* here = reinterpret_cast<unsigned char*>(this) + offsetof(metadata_header, ssd_count);
    system_word<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(here)).store(both, relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the halves are read by their own types
  }

  /// True if a membership is what was written.
  constexpr bool is_sealed(std::uint32_t at) const { return membership[at].is_sealed(others[at]); }
  /// The value `place` must have.
  constexpr std::uint32_t expected_place() const {
    return others[membership_at(epoch)].place_of(self);
  }
  /// Where the membership of the present epoch is.
  GNSTOR_HD constexpr std::uint32_t membership_at(std::uint32_t now) const {
    return membership[0].epoch == now ? 0 : 1;
  }
};

static_assert(offsetof(metadata_header, identity) == offsetof(metadata_header, ssd_count) + 4);
static_assert(offsetof(metadata_header, array) == 200, "docs/flash-format.md");
static_assert(offsetof(metadata_header, flushes) == 208, "docs/flash-format.md");
static_assert(sizeof(metadata_header) == 256 && std::is_trivially_copyable_v<metadata_header>);

}  // namespace gnstor::fw

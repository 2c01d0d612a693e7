#pragma once

#include <gnstor/wire/afa/volume_client.hpp>
#include <gnstor/wire/afa/volume_name.hpp>

#include <type_traits>

namespace gnstor::wire::afa {

/// Of all payloads of `wire/afa`, and of what both ends compute for themselves: the placement.
inline constexpr std::uint32_t payload_version = 4;

/// Whether a volume is where its placement says: one that an SSD joins moves there in steps.
enum class volume_spread : std::uint32_t {
  whole = 0,     ///< it is where it always was
  joining = 1,   ///< on an SSD that is being given its share: nobody reads there
  moved = 2,     ///< `ssd_count` has changed; SSDs still have what belongs elsewhere now
  dropping = 3,  ///< they drop it
  creating = 4,  ///< on SSDs of which not all are known to have it yet: on no list of volumes
  deleting = 5,  ///< every SSD is being informed that it goes: on no list, and never back
  /// It is about to lie on one SSD fewer: the others are being given the share of the last one, and
  /// take blocks that belong to them without it.
  gathering = 6,
};

/// True of a volume that is to be seen: every SSD of its has it, and none is to lose it.
GNSTOR_HD constexpr bool is_listed(volume_spread s) {
  return s == volume_spread::whole || s == volume_spread::moved || s == volume_spread::dropping ||
         s == volume_spread::gathering;
}

/// All an SSD must know of a volume: the data of VOLUME ADD and an entry of VOLUME LIST.
///
/// The SSDs keep it in their permission tables, from which a restarted daemon rebuilds its own
/// state. GNStor, 4.1 and 4.3.
struct volume_record {
  std::uint32_t version;  ///< `payload_version`
  std::uint16_t vid;      ///< 0 is reserved
  std::uint16_t replicas;
  std::uint64_t hash_factor;
  std::uint64_t capacity_blocks;
  std::uint32_t stripe_blocks;
  std::uint32_t epoch;         ///< array epoch of the volume's last change
  std::uint32_t client_count;  ///< entries of `clients` in use
  volume_spread spread;
  /// SSDs that its placement chooses from: the first so many of the array. 0 in VOLUME ADD: all.
  std::uint32_t ssd_count;
  /// Of its dirty region log, for ever: a region is 2 to this many stripes.
  std::uint32_t region_shift;
  /// The host that created it: it alone deletes the volume and says who else may use it. A number
  /// made of its NQN by the array. 0 in VOLUME ADD: who sends it; 0 in an SSD: nobody.
  std::uint64_t owner;
  /// The first epoch in which clients may write it: in those before it is about to lie elsewhere,
  /// and their writes are refused as of a stale epoch. The manager's alone to say.
  std::uint32_t held_until;
  std::uint32_t reserved60;
  volume_name name;      ///< no two volumes of an array have the same; or none
  volume_labels labels;  ///< whatever its users want to say of it
  volume_client clients[max_volume_clients];
};

static_assert(sizeof(volume_record) == 384 && std::is_trivial_v<volume_record>);
static_assert(offsetof(volume_record, version) == 0);
static_assert(offsetof(volume_record, vid) == 4);
static_assert(offsetof(volume_record, replicas) == 6);
static_assert(offsetof(volume_record, hash_factor) == 8);
static_assert(offsetof(volume_record, capacity_blocks) == 16);
static_assert(offsetof(volume_record, stripe_blocks) == 24);
static_assert(offsetof(volume_record, epoch) == 28);
static_assert(offsetof(volume_record, client_count) == 32);
static_assert(offsetof(volume_record, spread) == 36);
static_assert(offsetof(volume_record, ssd_count) == 40);
static_assert(offsetof(volume_record, region_shift) == 44);
static_assert(offsetof(volume_record, owner) == 48);
static_assert(offsetof(volume_record, held_until) == 56);
static_assert(offsetof(volume_record, reserved60) == 60);
static_assert(offsetof(volume_record, name) == 64);
static_assert(offsetof(volume_record, labels) == 128);
static_assert(offsetof(volume_record, clients) == 256);

}  // namespace gnstor::wire::afa

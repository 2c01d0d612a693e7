#pragma once

#include <deengine/volume_grant.hpp>
#include <deengine/volume_slot.hpp>
#include <gnstor/core/divisor.hpp>
#include <gnstor/core/units.hpp>

#include <type_traits>

namespace gnstor::fw {

/// A grant somebody has looked up, and what tells whether it still holds: the version of its slot.
struct known_grant {
  const volume_slot* slot;  ///< null: nothing is known
  std::uint64_t version;
  std::uint64_t hash_factor;
  std::uint64_t capacity_blocks;
  divisor stripe;  ///< blocks
  std::uint32_t generation;
  std::uint32_t held_until;
  std::uint8_t replicas;
  std::uint8_t ssd_count;
  std::uint8_t rights;
  std::uint8_t region_shift;
  std::uint16_t vid;
  std::uint16_t client;

  GNSTOR_HD static known_grant of(const volume_slot& slot, std::uint64_t version,
                                  const volume_grant& g, volume_id vid, client_id client) {
    return {&slot,
            version,
            g.hash_factor,
            g.capacity_blocks,
            divisor(g.stripe_blocks),
            g.generation,
            g.held_until,
            static_cast<std::uint8_t>(g.replicas),
            static_cast<std::uint8_t>(g.ssd_count),
            static_cast<std::uint8_t>(g.rights),
            static_cast<std::uint8_t>(g.region_shift),
            vid.value,
            client.value};
  }
  /// As `volume_grant::gathers`.
  GNSTOR_HD bool gathers_only() const { return (rights & volume_grant::gathers) != 0; }
  /// True if both were looked up for the same client of the same image.
  GNSTOR_HD bool same(const known_grant& other) const {
    return slot == other.slot && version == other.version && client == other.client;
  }
  GNSTOR_HD volume_grant grant() const {
    return {hash_factor, capacity_blocks, generation,   stripe.value(), replicas,
            ssd_count,   rights,          region_shift, held_until};
  }
};

static_assert(std::is_trivially_default_constructible_v<known_grant>, "it lies in shared memory");
static_assert(sizeof(known_grant) == 64, "so many are kept by each queue's engine");

}  // namespace gnstor::fw

#pragma once
/// Which host may do what to which volume, where no manager does it for all of them.

#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

namespace gnstor::fw {

/// Who sends an admin command.
struct admin_caller {
  client_id client{};
  std::uint64_t host = 0;  ///< as `volume_record::owner`; 0: nobody that the array knows
  bool manager = false;    ///< of the array: may do everything
  bool managed = false;    ///< the array has a manager: nobody else changes volumes
};

/// Checks a VOLUME ADD: a host adds volumes of its own, and gives nobody the right to fill.
/// 0 when it may.
GNSTOR_HD constexpr std::uint16_t may_add(const wire::afa::volume_record& r,
                                          const admin_caller& who) {
  if (who.manager) return 0;
  if (who.managed) return wire::afa::make_status(wire::afa::status::managed);
  bool allowed = who.host != 0 && (r.owner == 0 || r.owner == who.host) && r.held_until == 0 &&
                 (r.spread == wire::afa::volume_spread::whole ||
                  r.spread == wire::afa::volume_spread::creating);
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::uint32_t k = 0; k < r.client_count && k < wire::afa::max_volume_clients; ++k)
    allowed = allowed && (r.clients[k].rights & wire::afa::right_fill) == 0;
  return allowed ? std::uint16_t{0} : wire::afa::make_status(wire::afa::status::not_permitted);
}

/// A volume as the rules below see one; `volume_entry` is another model.
struct recorded_volume {
  const wire::afa::volume_record& r;

  GNSTOR_HD constexpr std::uint16_t vid() const { return r.vid; }
  GNSTOR_HD constexpr std::uint64_t owner() const { return r.owner; }
  GNSTOR_HD constexpr std::uint32_t client_count() const { return r.client_count; }
  GNSTOR_HD constexpr wire::afa::volume_client client(std::uint32_t k) const {
    return r.clients[k];
  }
};

/// Checks a VOLUME DELETE. 0 when the caller may.
/// @param known the volume; VID 0 if there is none
template <class Volume>
GNSTOR_HD constexpr std::uint16_t may_delete(const Volume& known, const admin_caller& who) {
  using wire::afa::make_status;
  if (known.vid() == 0) return make_status(wire::afa::status::unknown_volume);
  if (who.managed && !who.manager) return make_status(wire::afa::status::managed);
  const bool own = who.host != 0 && who.host == known.owner();
  return who.manager || own ? std::uint16_t{0} : make_status(wire::afa::status::not_owner);
}
GNSTOR_HD constexpr std::uint16_t may_delete(const wire::afa::volume_record& known,
                                             const admin_caller& who) {
  return may_delete(recorded_volume{known}, who);
}

/// Checks a VOLUME CHMOD. The owner names it, has it deleted, and gives and takes the rights to
/// read and to write; another host that has a right takes the right to write for itself, where that
/// is free, or gives back what it has. Where a volume lies, who owns it and who fills it is the
/// manager's. 0 when the caller may.
/// @param known the volume; VID 0 if there is none
template <class Volume>
GNSTOR_HD constexpr std::uint16_t may_change(const Volume& known,
                                             const wire::afa::volume_chmod& change,
                                             const admin_caller& who) {
  using wire::afa::make_status;
  using wire::afa::volume_chmod;
  if (known.vid() == 0) return make_status(wire::afa::status::unknown_volume);
  if (who.manager) return 0;
  if (who.managed) return make_status(wire::afa::status::managed);
  if (change.owner != 0 || change.ssd_count != 0 ||
      (change.sets & (volume_chmod::sets_clean | volume_chmod::sets_hold)) != 0)
    return make_status(wire::afa::status::not_permitted);
  const bool own = who.host != 0 && who.host == known.owner();
  bool admitted = false;
  bool fills = false;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::uint32_t j = 0; j < change.client_count && j < wire::afa::max_volume_clients; ++j)
    fills = fills || (change.clients[j].rights & wire::afa::right_fill) != 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::uint32_t k = 0; k < known.client_count() && k < wire::afa::max_volume_clients; ++k) {
    const wire::afa::volume_client has = known.client(k);
    admitted = admitted || has.client == who.client.value;
    if ((has.rights & wire::afa::right_fill) == 0) continue;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t j = 0; j < change.client_count && j < wire::afa::max_volume_clients; ++j)
      fills = fills || change.clients[j].client == has.client;
  }
  if (fills) return make_status(wire::afa::status::not_permitted);
  if (own) return 0;
  const bool only_rights = change.sets == 0 && change.spread == wire::afa::volume_spread::whole;
  const bool only_itself =
      only_rights && change.client_count == 1 && change.clients[0].client == who.client.value;
  return admitted && only_itself ? std::uint16_t{0} : make_status(wire::afa::status::not_owner);
}
GNSTOR_HD constexpr std::uint16_t may_change(const wire::afa::volume_record& known,
                                             const wire::afa::volume_chmod& change,
                                             const admin_caller& who) {
  return may_change(recorded_volume{known}, change, who);
}

}  // namespace gnstor::fw

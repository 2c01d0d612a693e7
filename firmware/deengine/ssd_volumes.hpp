#pragma once

#include <deengine/array_epoch.hpp>
#include <deengine/list_volumes.hpp>
#include <deengine/metadata.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_list.hpp>

namespace gnstor::fw {

/// What the admin owner of an SSD does to it: its epoch and its volumes (a view, which `engine_ref`
/// makes).
/// @tparam Scope the widest distance between two callers
template <thread_scope Scope>
class ssd_volumes {
 public:
  GNSTOR_HD explicit ssd_volumes(const metadata& meta) : meta_(meta) {}

  GNSTOR_HD std::uint32_t ssd_count() const { return meta_.header().ssd_count; }
  GNSTOR_HD std::uint32_t epoch() const { return serving().now(); }

  /// Moves the array to another epoch, in which these SSDs serve: from now on commands of other
  /// epochs are refused, and not committed. The very membership of the present epoch changes
  /// nothing.
  /// @par Callers the admin owner
  /// @param others that stand in for some
  /// @par Errors bad_payload_version, bad_payload (an SSD that is absent and filling, or that there
  /// is not), stale_epoch: the epoch is over, or is known with another membership
  GNSTOR_HD std::uint16_t array_update(const wire::afa::array_membership& m,
                                       wire::afa::stand_ins others = {}) const {
    return serving().update(m, others);
  }
  /// Which SSDs stand in for others. @par Callers the admin owner
  GNSTOR_HD wire::afa::stand_ins others() const { return serving().others(); }
  /// Which SSDs serve. @par Callers the admin owner
  GNSTOR_HD membership_record membership() const { return serving().membership(); }
  /// True while this SSD lacks what others have: it is filled or absent. @par Callers anybody
  GNSTOR_HD bool is_filling() const { return serving().is_filling(); }

  /// Adds a volume. Adding the very record the table holds succeeds and changes nothing. While this
  /// SSD is filled, or absent, it is dirty all over: what it is not given, as that is zero, may be
  /// on one other SSD alone, whose marks can be lost.
  /// @par Callers the admin owner, one lane; so for all `volume_` functions
  /// @param command_epoch the array epoch the command carries
  /// @par Errors stale_epoch, volume_exists, too_many_volumes, and those of `check_record`
  GNSTOR_HD std::uint16_t volume_add(std::uint32_t command_epoch,
                                     const wire::afa::volume_record& r) const {
    if (command_epoch != epoch()) return wire::afa::make_status(wire::afa::status::stale_epoch);
    const bool known = permissions().look_up(volume_id(r.vid)).vid() != 0;
    const atomic_ref<std::uint32_t, Scope> next(meta_.header().next_generation);
    const std::uint32_t generation = next.load(relaxed);
    next.store(generation + 1, relaxed);
    const std::uint16_t refused = permissions().add(r, generation, ssd_count());
    if (refused == 0 && !known && is_filling())
      logs().distrust(permissions().slot_of(volume_id(r.vid)));
    return refused;
  }

  /// Changes rights of some clients, and where a volume lies; all or nothing. What belongs on other
  /// SSDs since goes as the shards' owners `tend`, once the volume is `dropping`.
  /// @par Errors stale_epoch, unknown_volume, and those of `apply_chmod`
  GNSTOR_HD std::uint16_t volume_chmod(std::uint32_t command_epoch,
                                       const wire::afa::volume_chmod& change) const {
    constexpr auto dropping = wire::afa::volume_spread::dropping;
    if (command_epoch != epoch()) return wire::afa::make_status(wire::afa::status::stale_epoch);
    const auto before = permissions().spread(volume_id(change.vid));
    // What the one that it leaves had marked nobody knows any more.
    const bool leaves = before == wire::afa::volume_spread::gathering &&
                        change.spread == wire::afa::volume_spread::moved && change.ssd_count != 0;
    if (leaves) logs().distrust(permissions().slot_of(volume_id(change.vid)));
    const std::uint16_t refused = permissions().chmod(change, command_epoch, ssd_count());
    const bool equal = (change.sets & wire::afa::volume_chmod::sets_clean) != 0 && !is_filling();
    if (refused == 0 && equal) logs().clear(permissions().slot_of(volume_id(change.vid)));
    // Who moves it asks no more what was marked since.
    const bool rests = (change.sets & wire::afa::volume_chmod::sets_hold) != 0 &&
                       change.held_until <= command_epoch + 1;
    if (refused == 0 && (rests || change.ssd_count != 0))
      logs().say_twice(permissions().slot_of(volume_id(change.vid)));
    const bool drops = change.spread == dropping && before != dropping;
    if (refused == 0 && drops) serving().count_deletion();
    if (refused == 0 && !drops) serving().count_change();
    return refused;
  }

  /// Deletes a volume: its data is unreachable at once, for a later volume of the same VID is
  /// another incarnation. The pages come back as the shards' owners `tend`.
  /// @param hash_factor of the volume that is meant; 0: any
  GNSTOR_HD std::uint16_t volume_delete(std::uint32_t command_epoch, volume_id vid,
                                        std::uint64_t hash_factor = 0) const {
    if (command_epoch != epoch()) return wire::afa::make_status(wire::afa::status::stale_epoch);
    const std::uint32_t slot = permissions().slot_of(vid);
    const std::uint16_t refused = permissions().remove(vid, hash_factor);
    if (refused == 0) serving().count_deletion();
    if (refused == 0) logs().clear(slot);  // for who has it next
    return refused;
  }

  /// The volumes from `first` on, in order of VID. @par Errors stale_epoch
  GNSTOR_HD std::uint16_t volume_list(std::uint32_t command_epoch, volume_id first,
                                      wire::afa::volume_list& out) const {
    if (command_epoch != epoch()) return wire::afa::make_status(wire::afa::status::stale_epoch);
    out.version = wire::afa::payload_version;
    out.epoch = command_epoch;
    list_volumes(permissions(), first, out);
    return 0;
  }

 private:
  GNSTOR_HD permission_table<Scope> permissions() const {
    return meta_.template volumes_table<Scope>();
  }
  GNSTOR_HD array_epoch<Scope> serving() const { return array_epoch<Scope>(meta_.header()); }

  GNSTOR_HD dirty_log<Scope> logs() const { return meta_.template dirty<Scope>(); }

  const metadata& meta_;
};

}  // namespace gnstor::fw

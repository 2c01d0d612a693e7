#pragma once
/// What the manager knows of who may do what with a volume.

#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <algorithm>
#include <cstring>
#include <optional>

namespace gnstor::daemon {

/// The entry of a client in a record, or the position behind the last entry.
inline wire::afa::volume_client* entry_of(wire::afa::volume_record& r, std::uint16_t client) {
  return std::find_if(r.clients, r.clients + r.client_count,
                      [client](const wire::afa::volume_client& c) { return c.client == client; });
}

inline bool has_rights(wire::afa::volume_record& r, std::uint16_t client) {
  return entry_of(r, client) != r.clients + r.client_count;
}

/// True if a table has room for another host, and then for who is to write, which may be a session.
inline bool has_room_for_host(wire::afa::volume_record& r, std::uint16_t client) {
  using namespace wire::afa;
  if (has_rights(r, client)) return true;
  const auto stays = std::count_if(r.clients, r.clients + r.client_count, [](const auto& c) {
    return (c.rights & right_write) == 0 || (c.rights & right_admitted) != 0;
  });
  return static_cast<std::uint32_t>(stays) + 1 < max_volume_clients;
}

/// What is left to a client that gives its rights back: who was admitted may read on, and come
/// back.
inline std::uint16_t kept_rights(wire::afa::volume_record& r, std::uint16_t client) {
  using namespace wire::afa;
  const volume_client* at = entry_of(r, client);
  const bool admitted = at != r.clients + r.client_count && (at->rights & right_admitted) != 0;
  return admitted ? std::uint16_t(right_admitted | right_read) : std::uint16_t{0};
}

/// Notes in a record what the SSDs were sent.
inline void apply(wire::afa::volume_record& r, const wire::afa::volume_chmod& change) {
  for (std::uint32_t k = 0; k < change.client_count; ++k) {
    const wire::afa::volume_client& c = change.clients[k];
    const auto* end = r.clients + r.client_count;
    auto* at = entry_of(r, c.client);
    if (at == end && (c.rights == 0 || r.client_count == wire::afa::max_volume_clients)) continue;
    if (at != end) r.clients[std::copy(at + 1, r.clients + r.client_count, at) - r.clients] = {};
    r.client_count -= at != end ? 1 : 0;
    if (c.rights != 0) r.clients[r.client_count++] = c;  // last, as SSDs have it
  }
  if (change.owner != 0) r.owner = change.owner;
  if ((change.sets & wire::afa::volume_chmod::sets_name) != 0) r.name = change.name;
  if ((change.sets & wire::afa::volume_chmod::sets_labels) != 0) r.labels = change.labels;
  if ((change.sets & wire::afa::volume_chmod::sets_capacity) != 0)
    r.capacity_blocks = std::max(r.capacity_blocks, change.capacity_blocks);
  if ((change.sets & wire::afa::volume_chmod::sets_hold) != 0) r.held_until = change.held_until;
  if (change.spread == wire::afa::volume_spread::deleting) r.spread = change.spread;
  if (change.ssd_count == 0) return;
  r.ssd_count = change.ssd_count;
  r.spread = change.spread;
}

/// Has a change say until when a volume is held, where it ever was: SSDs of before do not know
/// that.
inline void hold(wire::afa::volume_chmod& change, std::uint32_t until) {
  if (until == 0) return;
  change.sets |= wire::afa::volume_chmod::sets_hold;
  change.held_until = until;
}

/// What tells every SSD the clients of a record, how long its volume is, and where it lies. None of
/// them may write, but `writer`, where there is one.
inline wire::afa::volume_chmod settled(const wire::afa::volume_record& r,
                                       std::uint16_t writer = 0) {
  wire::afa::volume_chmod change{};
  change.sets = wire::afa::volume_chmod::sets_capacity;
  change.capacity_blocks = r.capacity_blocks;
  hold(change, r.held_until);
  change.client_count = static_cast<std::uint16_t>(r.client_count);
  for (std::uint32_t k = 0; k < r.client_count; ++k) {
    change.clients[k] = r.clients[k];
    if (writer != 0 && r.clients[k].client == writer) continue;
    change.clients[k].rights &= std::uint16_t(~wire::afa::right_write);
  }
  if (r.spread == wire::afa::volume_spread::whole) return change;
  change.ssd_count = r.ssd_count;
  change.spread = r.spread;
  return change;
}

/// What tells an SSD that a volume is to be deleted.
inline wire::afa::volume_chmod going(std::uint16_t vid) {
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = vid;
  change.spread = wire::afa::volume_spread::deleting;
  return change;
}

/// True while a volume's placement changes: nobody may write it until that is over.
inline bool is_moving(wire::afa::volume_spread s) {
  return s == wire::afa::volume_spread::moved || s == wire::afa::volume_spread::gathering;
}

/// What makes an SSD that was away for a while say the same of a volume as others do; nothing where
/// one change of it cannot.
inline std::optional<wire::afa::volume_chmod> caught_up(const wire::afa::volume_record& has,
                                                        wire::afa::volume_record known) {
  using wire::afa::volume_chmod;
  using wire::afa::volume_spread;
  // While a move is announced it may have left before it heard so.
  const bool announced = known.spread == volume_spread::moved;
  const bool rested = has.spread == volume_spread::whole || has.spread == volume_spread::dropping;
  const bool grew = announced && rested && has.ssd_count + 1 == known.ssd_count;
  const bool shrank =
      announced && has.spread == volume_spread::gathering && has.ssd_count == known.ssd_count + 1;
  const bool lies_alike = (has.ssd_count == known.ssd_count || grew || shrank) &&
                          has.replicas == known.replicas &&
                          has.stripe_blocks == known.stripe_blocks;
  // It missed the last steps of a move to it, or of one that was given up and left it where it was.
  const bool has_come =
      known.spread == volume_spread::moved || known.spread == volume_spread::dropping;
  const bool missed = has_come && has.spread != known.spread &&
                      has.spread != volume_spread::creating &&
                      has.spread != volume_spread::deleting;
  if (!lies_alike || (has.spread != known.spread && !missed)) return {};
  if (known.spread != volume_spread::whole && !has_come) return {};
  volume_chmod change{};
  change.sets = volume_chmod::sets_name | volume_chmod::sets_labels | volume_chmod::sets_capacity;
  change.name = known.name;
  change.labels = known.labels;
  change.capacity_blocks = known.capacity_blocks;
  hold(change, known.held_until);
  if (missed) change.ssd_count = known.ssd_count;
  if (missed) change.spread = known.spread;
  change.owner = known.owner;
  const auto add = [&change](wire::afa::volume_client c) {
    if (change.client_count < wire::afa::max_volume_clients)
      change.clients[change.client_count] = c;
    ++change.client_count;
  };
  for (std::uint32_t k = 0; k < has.client_count; ++k)
    if (!has_rights(known, has.clients[k].client)) add({has.clients[k].client, 0});
  for (std::uint32_t k = 0; k < known.client_count; ++k) add(known.clients[k]);
  if (change.client_count > wire::afa::max_volume_clients) return {};
  return change;
}

/// How far a volume's spreading is, of which two SSDs say something.
inline wire::afa::volume_spread latest(const wire::afa::volume_record& a,
                                       const wire::afa::volume_record& b) {
  using wire::afa::volume_spread;
  // Where the numbers of SSDs differ, too: no SSD drops before all know the larger one.
  // One that is deleted may have been anything.
  const auto either = [&](volume_spread s) { return a.spread == s || b.spread == s; };
  if (either(volume_spread::deleting)) return volume_spread::deleting;
  if (either(volume_spread::moved)) return volume_spread::moved;
  if (either(volume_spread::gathering)) return volume_spread::gathering;
  return std::max(a.spread, b.spread);
}

/// The SSDs that it is spread over, of which two SSDs say something: whoever says that it moved
/// knows that all else was ready. No SSD says so of an older number, as that one is deleted before
/// anybody drops.
inline std::uint32_t latest_count(const wire::afa::volume_record& a,
                                  const wire::afa::volume_record& b) {
  const bool a_moved = a.spread == wire::afa::volume_spread::moved;
  const bool b_moved = b.spread == wire::afa::volume_spread::moved;
  if (a_moved != b_moved) return a_moved ? a.ssd_count : b.ssd_count;
  return std::max(a.ssd_count, b.ssd_count);
}

/// True if two SSDs say the same of a volume, whenever they were informed.
inline bool alike(wire::afa::volume_record a, const wire::afa::volume_record& b) {
  a.epoch = b.epoch;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// A record with the clients of another SSD's, too, the SSDs it has been spread over, and the size
/// that it has grown to: one that is on its way to all is of nobody's use before, and no loss.
inline wire::afa::volume_record merged(wire::afa::volume_record known,
                                       const wire::afa::volume_record& other) {
  wire::afa::volume_chmod more{};
  more.spread = latest(known, other);
  more.ssd_count = latest_count(known, other);
  more.sets = wire::afa::volume_chmod::sets_capacity;
  more.capacity_blocks = other.capacity_blocks;
  hold(more, std::max(known.held_until, other.held_until));
  for (std::uint32_t k = 0; k < other.client_count; ++k) {
    if (!has_rights(known, other.clients[k].client))
      more.clients[more.client_count++] = other.clients[k];
  }
  apply(known, more);
  return known;
}

}  // namespace gnstor::daemon

#pragma once
/// What a volume's record must obey, whoever sends it.

#include <gnstor/wire/afa/array_limits.hpp>
#include <gnstor/wire/afa/dirty_regions.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

namespace gnstor::wire::afa {

/// Checks clients and rights of a list: known rights only, no client twice, one writer at most. 0
/// when all is well.
/// @param fewest rights a client must have: 0 where an entry may take rights away
GNSTOR_HD constexpr std::uint16_t check_clients(const volume_client* clients, std::uint32_t count,
                                                std::uint16_t fewest) {
  if (count > max_volume_clients) return make_status(status::too_many_clients);
  std::uint32_t writers = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint16_t rights = clients[k].rights;
    if (rights < fewest || rights > all_rights) {
      return make_status(status::bad_payload);
    }
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t j = 0; j < k; ++j) {
      if (clients[j].client == clients[k].client) return make_status(status::bad_payload);
    }
    if ((rights & right_write) != 0) ++writers;
  }
  return writers > 1 ? make_status(status::writer_exists) : std::uint16_t{0};
}

/// Checks the data of a VOLUME ADD for an array of `ssd_count` SSDs. 0 when all is well.
GNSTOR_HD constexpr std::uint16_t check_record(const volume_record& r, std::uint32_t ssd_count) {
  if (r.version != payload_version) return make_status(status::bad_payload_version);
  const bool sound = r.vid != 0 && r.capacity_blocks != 0 &&
                     r.capacity_blocks <= max_volume_blocks && r.stripe_blocks != 0 &&
                     r.stripe_blocks <= max_stripe_blocks && r.replicas != 0 &&
                     r.replicas <= max_replicas && r.ssd_count <= ssd_count &&
                     r.spread <= volume_spread::gathering && is_text(r.name) && is_text(r.labels) &&
                     r.region_shift <= max_region_shift &&
                     r.replicas <= (r.ssd_count != 0 ? r.ssd_count : ssd_count);
  if (!sound) return make_status(status::bad_payload);
  return check_clients(r.clients, r.client_count, 1);
}

/// True if a volume may be spread as a VOLUME CHMOD says: over one SSD more at a time, or, once the
/// others have gathered what the last one holds, over one fewer; and what belongs elsewhere is
/// dropped, and the next SSD joins, only once all SSDs know.
GNSTOR_HD constexpr bool may_spread(const volume_record& r, const volume_chmod& change,
                                    std::uint32_t ssd_count) {
  if (change.ssd_count == 0)
    return change.spread == volume_spread::whole || change.spread == volume_spread::deleting;
  const bool stays = change.ssd_count == r.ssd_count;
  const bool grows = change.ssd_count == r.ssd_count + 1 && change.ssd_count <= ssd_count;
  const bool narrows = change.ssd_count + 1 == r.ssd_count;
  const bool moved = r.spread == volume_spread::moved;
  const bool gathers = r.spread == volume_spread::gathering;
  if (change.spread == volume_spread::moved)
    return stays || (grows && !moved && !gathers) || (narrows && gathers);
  if (change.spread == volume_spread::gathering) {
    return stays && r.replicas < r.ssd_count &&
           (gathers || r.spread == volume_spread::whole || r.spread == volume_spread::dropping);
  }
  // An SSD that was away hears of the last step alone.
  return change.spread == volume_spread::dropping && stays && r.spread != volume_spread::creating &&
         r.spread != volume_spread::deleting;
}

/// True if a volume may be called, and be as long, as a VOLUME CHMOD says: it never shrinks.
GNSTOR_HD constexpr bool may_set(const volume_record& r, const volume_chmod& change) {
  constexpr std::uint32_t known = volume_chmod::sets_name | volume_chmod::sets_labels |
                                  volume_chmod::sets_capacity | volume_chmod::sets_clean |
                                  volume_chmod::sets_hold;
  const auto sets = [&](std::uint32_t what) { return (change.sets & what) != 0; };
  return (change.sets & ~known) == 0 && (!sets(volume_chmod::sets_name) || is_text(change.name)) &&
         (!sets(volume_chmod::sets_labels) || is_text(change.labels)) &&
         (!sets(volume_chmod::sets_capacity) || (change.capacity_blocks >= r.capacity_blocks &&
                                                 change.capacity_blocks <= max_volume_blocks));
}

/// Applies a VOLUME CHMOD to `r`, entirely or, when the answer is not 0, not at all.
/// @param ssd_count of the array
GNSTOR_HD constexpr std::uint16_t apply_chmod(volume_record& r, const volume_chmod& change,
                                              std::uint32_t ssd_count) {
  if (change.version != payload_version) return make_status(status::bad_payload_version);
  if (!may_set(r, change) || !may_spread(r, change, ssd_count))
    return make_status(status::bad_payload);
  const std::uint16_t unsound = check_clients(change.clients, change.client_count, 0);
  if (unsound != 0) return unsound;
  const auto listed = [&](std::uint16_t client) {
    bool found = false;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t j = 0; j < change.client_count; ++j)
      found = found || change.clients[j].client == client;
    return found;
  };
  // Both lists are sound: what they come to has too many clients, or two writers, or is sound too.
  std::uint32_t count = 0;
  std::uint32_t writers = 0;
  const auto add = [&](const volume_client& c) {
    ++count;
    if ((c.rights & right_write) != 0) ++writers;
  };
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::uint32_t k = 0; k < r.client_count; ++k) {
    if (!listed(r.clients[k].client)) add(r.clients[k]);
  }
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::uint32_t j = 0; j < change.client_count; ++j) {
    if (change.clients[j].rights != 0) add(change.clients[j]);
  }
  if (count > max_volume_clients) return make_status(status::too_many_clients);
  if (writers > 1) return make_status(status::writer_exists);
  std::uint32_t kept = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::uint32_t k = 0; k < r.client_count; ++k) {
    if (!listed(r.clients[k].client)) r.clients[kept++] = r.clients[k];
  }
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::uint32_t j = 0; j < change.client_count; ++j) {
    if (change.clients[j].rights != 0) r.clients[kept++] = change.clients[j];
  }
  for (; kept < max_volume_clients; ++kept) r.clients[kept] = {};
  r.client_count = count;
  if (change.owner != 0) r.owner = change.owner;
  if ((change.sets & volume_chmod::sets_name) != 0) r.name = change.name;
  if ((change.sets & volume_chmod::sets_labels) != 0) r.labels = change.labels;
  if ((change.sets & volume_chmod::sets_capacity) != 0) r.capacity_blocks = change.capacity_blocks;
  if ((change.sets & volume_chmod::sets_hold) != 0) r.held_until = change.held_until;
  if (change.spread == volume_spread::deleting) r.spread = change.spread;
  if (change.ssd_count != 0) {
    r.ssd_count = change.ssd_count;
    r.spread = change.spread;
  }
  return 0;
}

/// True if `later` is what the creation of `known` ends with: the same volume, known to all SSDs.
GNSTOR_HD constexpr bool confirms(const volume_record& known, const volume_record& later) {
  if (known.spread != volume_spread::creating) return false;
  bool same = known.version == later.version && known.vid == later.vid &&
              known.replicas == later.replicas && known.hash_factor == later.hash_factor &&
              known.capacity_blocks == later.capacity_blocks &&
              known.stripe_blocks == later.stripe_blocks &&
              known.region_shift == later.region_shift && known.owner == later.owner &&
              known.client_count == later.client_count && known.ssd_count == later.ssd_count &&
              known.name == later.name && known.labels == later.labels &&
              later.spread == volume_spread::whole;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::uint32_t k = 0; k < max_volume_clients; ++k) {
    same = same && known.clients[k].client == later.clients[k].client &&
           known.clients[k].rights == later.clients[k].rights;
  }
  return same;
}

}  // namespace gnstor::wire::afa

#pragma once

#include <deengine/volume_slot.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/volume_list.hpp>

namespace gnstor::fw {

/// The volumes from an id on: the lowest and the highest id, and how many there are.
struct volume_ids {
  std::uint32_t lowest = vid_count;
  std::uint32_t highest = 0;
  std::uint32_t count = 0;

  template <class Table>
  GNSTOR_HD static volume_ids in(const Table& table, std::uint32_t first) {
    volume_ids there;
    for (std::uint32_t k = 0; k < table.max_volumes(); ++k) {
      const std::uint32_t vid = table.vid_in(k);
      if (vid == 0 || vid < first) continue;
      ++there.count;
      if (vid < there.lowest) there.lowest = vid;
      if (vid > there.highest) there.highest = vid;
    }
    return there;
  }
};

/// Lists the volumes of a permission table from `first` on, in order of VID, as many as one answer
/// holds.
///
/// Every slot is looked at for the first answer, and where many ids in a row are nobody's. So a
/// list of all volumes, which have the lowest ids that are free, takes some looks for each volume
/// and one at each slot, not one at each slot for every answer.
/// @par Callers the admin owner, one lane
template <class Table>
GNSTOR_HD void list_volumes(const Table& table, volume_id first, wire::afa::volume_list& out) {
  constexpr std::uint32_t in_vain = 64;
  const bool begins = first.value <= 1;
  volume_ids there{first.value, vid_count - 1, 0};
  if (begins) there = volume_ids::in(table, first.value);
  out.count = 0;
  out.total = there.count;
  out.next_vid = 0;
  std::uint32_t vain = 0;
  for (std::uint32_t next = there.lowest; next <= there.highest; ++next) {
    const volume_id vid(static_cast<std::uint16_t>(next));
    if (table.look_up(vid).vid() == 0) {
      if (begins || ++vain != in_vain) continue;
      vain = 0;
      there = volume_ids::in(table, next);
      next = there.lowest - 1;
      continue;
    }
    vain = 0;
    if (out.count == wire::afa::volume_list_records) {
      out.next_vid = vid.value;
      return;
    }
    out.records[out.count++] = table.find(vid);
  }
}

}  // namespace gnstor::fw

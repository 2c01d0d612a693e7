/// What the SSDs of an emulated array say of it together, before the firmware runs.

#include "emulated_array.hpp"
#include <deengine/metadata.hpp>
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace gnstor::host {

/// An empty SSD in the midst of an array with volumes is one whose file is gone. Throws `error`.
void emulated_array::refuse_gaps() const {
  std::uint32_t known = 0;
  const fw::membership_record latest = latest_membership();  // one that is absent may be another
  for (const drive& d : drives_) {
    const fw::metadata meta(d.host_metadata, geometry_);
    const auto volumes = meta.volumes_table<thread_scope_system>();
    bool used = false;
    for (std::uint32_t v = 0; v < geometry_.max_volumes && !d.fresh; ++v)
      used = used || volumes.read(v).vid != 0;
    if (used) known = std::max(known, meta.header().ssd_count);
  }
  for (std::uint32_t k = 0; k < known && k < endpoint_.ssds; ++k) {
    if (!drives_[k].fresh || (latest.absent >> k & 1) != 0) continue;
    throw error(
        fmt::format("{} is missing or empty, and the array was made with {} SSDs, volumes "
                    "on them: put the file back",
                    path_of(k), known));
  }
}

/// Refuses an SSD of another array, and gives the array's name to those that have none. Throws
/// `error`.
void emulated_array::name_array() const {
  const auto of = [](const drive& d) -> fw::array_name& {
    return static_cast<fw::metadata_header*>(d.host_metadata)->array;
  };
  fw::array_name name;
  std::uint32_t first = 0;
  for (std::uint32_t k = 0; k < drives_.size(); ++k) {
    const fw::array_name its = of(drives_[k]);
    if (!its.any()) continue;
    if (!name.any()) {
      name = its;
      first = k;
    } else if (!(its == name)) {
      throw error(fmt::format("{} is of another array than {}: put the file of this array back",
                              path_of(k), path_of(first)));
    }
  }
  if (!name.any()) name = fw::array_name::of(std::random_device{}() | 1);
  for (const drive& d : drives_) of(d) = name;
}

/// What the SSDs know of the latest epoch that any of them knows.
fw::membership_record emulated_array::latest_membership() const {
  fw::membership_record latest;
  for (const drive& d : drives_) {
    const fw::metadata_header& h = fw::metadata(d.host_metadata, geometry_).header();
    if (h.epoch > latest.epoch) latest = h.membership[h.membership_at(h.epoch)];
  }
  return latest;
}

/// Deletes volumes whose creation has ended half-way, with the process that ran it: nobody is there
/// yet who might go on with it. And those whose deletion has: some SSDs have forgotten them. What
/// an SSD says of either counts only if it was there when that ended.
void emulated_array::forget_unconfirmed() const {
  using table = fw::permission_table<thread_scope_system>;
  const auto of = [&](const drive& d) -> table {
    return fw::metadata(d.host_metadata, geometry_).volumes_table<thread_scope_system>();
  };
  const fw::membership_record latest = latest_membership();
  for (std::size_t k = 0; k < drives_.size(); ++k) {
    const table here = of(drives_[k]);
    const bool absent = (latest.absent >> k & 1) != 0;
    for (std::uint32_t v = 0; v < geometry_.max_volumes; ++v) {
      const wire::afa::volume_record r = here.read(v);
      // What an absent one says was settled without it: the volume may be in use.
      const bool ended = r.spread == wire::afa::volume_spread::creating ||
                         r.spread == wire::afa::volume_spread::deleting;
      if (r.vid == 0 || absent || !ended) continue;
      for (const drive& other : drives_) {
        const table there = of(other);
        if (there.find(volume_id(r.vid)).hash_factor == r.hash_factor)
          (void)there.remove(volume_id(r.vid));
      }
    }
  }
}

}  // namespace gnstor::host

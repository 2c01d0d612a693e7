/// How an SSD that was taken out for planned work comes back with what it had.

#include <daemon/client_rights.hpp>
#include <daemon/manager.hpp>

#include <algorithm>

namespace gnstor::daemon {

void manager::ssd_leaves(std::uint32_t ssd, std::uint64_t until) {
  const auto fails = [=](const operation& op) { return op.what == action::fail && op.ssd == ssd; };
  if (std::any_of(queue_.begin(), queue_.end(), fails)) return;
  ssd_failed(ssd);
  if (!queue_.empty() && fails(queue_.front())) queue_.front().until = until;
}

std::vector<std::uint16_t> manager::unequal() const {
  std::vector<std::uint16_t> all;
  for (const auto& [vid, v] : volumes_)
    if (v.writer == 0 && v.unequal && !v.going) all.push_back(vid);
  return all;
}

/// What of an SSD's data counts that is taken out now. A volume that somebody may write, or whose
/// replicas may differ, is not among it.
planned_absences::absence manager::absence_until(std::uint64_t until) const {
  planned_absences::absence a{.epoch = published_.epoch, .until = until};
  for (const auto& [vid, v] : volumes_)
    if (v.writer == 0 && !v.unequal && !v.going) a.volumes[vid] = v.r.hash_factor;
  return a;
}

/// What of it counts still, now that it is back. One that was there long ago has not come to the
/// epoch in which it left.
planned_absences::absence manager::still_counts(const operation& op) const {
  const planned_absences::absence* const away = absences_.of(op.ssd);
  const bool is_it = away != nullptr && op.says && op.says->serving.epoch >= away->epoch;
  return is_it ? *away : planned_absences::absence{};
}

/// What the SSD of a replacement has to learn of a volume whose data it has as others do; nothing:
/// its data does not count.
std::optional<wire::afa::volume_chmod> manager::kept_by(const operation& op,
                                                        std::uint16_t vid) const {
  const wire::afa::volume_record* const known = record_of(vid);
  const auto left = op.counts.volumes.find(vid);
  if (known == nullptr || left == op.counts.volumes.end() || left->second != known->hash_factor)
    return {};
  for (const wire::afa::volume_record& has : op.says->volumes) {
    if (has.vid != vid || has.hash_factor != known->hash_factor) continue;
    std::optional<wire::afa::volume_chmod> change = caught_up(has, *known);
    if (!change) return {};
    change->version = wire::afa::payload_version;
    change->vid = vid;
    return change;
  }
  return {};
}

}  // namespace gnstor::daemon

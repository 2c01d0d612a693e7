#include <daemon/client_rights.hpp>
#include <daemon/manager.hpp>

namespace gnstor::daemon {

void manager::recover(const std::vector<std::optional<ssd_report>>& reports, std::uint64_t now) {
  *this = manager(options_);
  now_ = now;
  knows_epoch_ = false;
  for (const auto& r : reports) {
    if (r && r->serving.epoch > now_serving_.epoch) now_serving_ = r->serving;
  }
  std::map<std::uint16_t, std::uint64_t> holders;
  std::vector<std::pair<std::uint16_t, std::uint32_t>> joining;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((present() & bit(k)) == 0 || !reports[k]) continue;
    for (const wire::afa::volume_record& r : reports[k]->volumes) {
      if (r.spread == wire::afa::volume_spread::joining) {
        joining.push_back({r.vid, k});
        continue;
      }
      holders[r.vid] |= bit(k);
      volume& v = volumes_[r.vid];
      v.r = v.r.vid == 0 ? r : merged(v.r, r);
    }
  }
  // An SSD that has joined a volume knows all of it if any other SSD does.
  for (const auto& [vid, ssd] : joining) {
    const volume* v = find(vid);
    if (v != nullptr && v->r.ssd_count > ssd) {
      holders[vid] |= bit(ssd);
    } else {
      queue_.push_back({.what = action::forget, .vid = vid, .ssd = ssd});
    }
  }
  std::uint64_t answering = 0;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) answering |= reports[k] ? bit(k) : 0;
  const std::uint64_t here = present() & answering;
  bool moved = false;
  std::vector<std::uint32_t> lost;
  for (auto at = volumes_.begin(); at != volumes_.end();) {
    moved = moved || at->second.r.spread == wire::afa::volume_spread::moved;
    const std::uint64_t should = here & own(at->second.r);
    const wire::afa::volume_record& r = at->second.r;
    std::uint64_t missing = should & ~holders[at->first];
    // Of a volume that was spread the SSD that joined had its share before anybody was informed:
    // where it knows nothing it has lost that, and is filled anew.
    if (r.spread == wire::afa::volume_spread::moved && missing == bit(r.ssd_count - 1)) {
      lost.push_back(r.ssd_count - 1);
      missing = 0;
    }
    const bool everywhere = missing == 0;
    operation op{.what = action::adopt, .vid = at->first, .drops = !everywhere};
    op.r = at->second.r;
    queue_.push_back(op);
    at->second.unequal = true;
    at = everywhere ? std::next(at) : volumes_.erase(at);
  }
  if (moved) queue_.push_back({.what = action::move_on, .step = moving_on});
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((now_serving_.filling & bit(k)) != 0) start_fill(k);
  }
  // Who knows the last epoch only in part is informed first.
  queue_.push_front({.what = action::settle, .step = 1});
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((present() & bit(k)) != 0 && !reports[k]) ssd_failed(k);
  }
  for (const std::uint32_t k : lost) ssd_failed(k);
}

/// Brings one volume of an array that is taken over to a state that all SSDs share.
bool manager::advance_adopt(operation& op) {
  if (op.drops) {
    ssd_order o;
    o.opcode = wire::afa::admin_opcode::volume_delete;
    o.vid = op.vid;
    return all_informed(op, present(), o);
  }
  return chmod(op, settled(op.r));
}

}  // namespace gnstor::daemon

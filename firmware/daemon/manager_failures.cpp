/// What becomes of SSDs: one that has failed, what takes its place, and blocks that are mended.

#include <daemon/manager.hpp>
#include <gnstor/wire/afa/status.hpp>

#include <utility>

namespace gnstor::daemon {

using wire::afa::admin_opcode;

bool manager::advance_fail(operation& op) {
  if (op.step == 0) {
    std::uint64_t failed = 0;
    for (operation& other : queue_) {  // together: none of them answers what the others ask
      if (other.what != action::fail || other.step != 0) continue;
      other.step = 1;
      failed |= bit(other.ssd);
      out_.detached.push_back(other.ssd);
      absences_.end(other.ssd);
      kept_.erase(other.ssd);
      if (other.until != 0 && knows_epoch_ && (now_serving_.filling & bit(other.ssd)) == 0)
        absences_.begin(other.ssd, absence_until(other.until));
      const auto fill = fills_.find(other.ssd);
      if (fill == fills_.end()) continue;
      cancel(fill->second);
      fills_.erase(fill);
    }
    change_epoch(now_serving_.absent | failed, now_serving_.filling & ~failed);
    give_up_repairs();
  }
  if (!all_informed_of_epoch(op)) return false;
  publish();
  return true;
}

bool manager::advance_replace(operation& op) {
  if (op.gone) return unfit(op);
  if (op.step == 0) {
    if ((now_serving_.absent & bit(op.ssd)) == 0) return true;
    op.step = 1;
  }
  if (op.step == 1) {
    ssd_order o;
    o.opcode = admin_opcode::array_update;
    o.membership = {wire::afa::payload_version, now_serving_.epoch, now_serving_.absent,
                    now_serving_.filling};
    if (!all_informed(op, bit(op.ssd), o)) return false;
    if (op.refusal != 0) return unfit(op);
    op.step = 2;
    op.left.clear();
    op.kept.clear();
    op.counts = still_counts(op);
    for (const auto& [vid, v] : volumes_) {
      if ((own(v.r) & bit(op.ssd)) != 0) op.left.push_back(vid);
    }
    for (const std::uint16_t vid : op.has) {
      if (find(vid) == nullptr || (own(find(vid)->r) & bit(op.ssd)) == 0) op.left.push_back(vid);
    }
  }
  for (; op.step < 4 && !op.left.empty(); op.left.pop_back()) {
    const std::uint16_t vid = op.left.back();
    if (const auto change = op.step == 2 ? kept_by(op, vid) : std::nullopt) {
      ssd_order rest;
      rest.opcode = admin_opcode::volume_chmod;
      rest.vid = vid;
      rest.chmod = *change;
      if (!all_informed(op, bit(op.ssd), rest)) return false;
      if (op.refusal == 0) {
        op.kept.push_back(vid);
        continue;
      }
      op.counts.volumes.erase(vid);
    }
    if (op.step == 2) {  // nothing that it wrote before counts: it may have missed newer writes
      ssd_order all;     // without a hash factor: whatever volume has this VID there
      all.opcode = admin_opcode::volume_delete;
      all.vid = vid;
      if (!all_informed(op, bit(op.ssd), all)) return false;
      if (op.refusal != 0 && !wire::afa::is_status(op.refusal, wire::afa::status::unknown_volume))
        return unfit(op);
    }
    const volume* v = find(vid);
    if (v == nullptr || (own(v->r) & bit(op.ssd)) == 0) continue;  // deleted while it was away
    op.step = 3;
    ssd_order empty;
    empty.opcode = admin_opcode::volume_add;
    empty.vid = vid;
    empty.record = v->r;
    if (!all_informed(op, bit(op.ssd), empty)) return false;
    if (op.refusal != 0) return unfit(op);
    op.step = 2;
  }
  if (op.step == 2) {
    op.step = 4;
    kept_[op.ssd] = op.kept;
    absences_.end(op.ssd);
    out_.attached.push_back(op.ssd);
    change_epoch(now_serving_.absent & ~bit(op.ssd), now_serving_.filling | bit(op.ssd));
  }
  if (!all_informed_of_epoch(op)) return false;
  publish();
  if ((now_serving_.filling & bit(op.ssd)) != 0) start_fill(op.ssd);
  return true;
}

/// The SSD that was to replace another does not do: its place stays empty, and somebody hears so.
bool manager::unfit(const operation& op) {
  absences_.end(op.ssd);
  out_.unfit.push_back(op.ssd);
  return true;
}

bool manager::advance_settle(operation& op) {
  if (op.step == 0) {
    const auto fill = fills_.find(op.ssd);
    if (fill == fills_.end()) return true;  // it has failed since
    cancel(fill->second);                   // it may have been ordered again
    fills_.erase(fill);
    kept_.erase(op.ssd);
    op.step = 1;
    change_epoch(now_serving_.absent, now_serving_.filling & ~bit(op.ssd));
  }
  if (!all_informed_of_epoch(op)) return false;
  publish();
  return true;
}

/// What a scrub has read may be older than a write under way, which the damaged replica may have
/// had: the next epoch ends all those, and there the damage is mended.
bool manager::advance_mend(operation& op) {
  if (op.step == 0) {
    if (find(op.vid) == nullptr) return true;
    change_epoch(now_serving_.absent, now_serving_.filling);
    give_up_repairs();
    op.step = 1;
  }
  if (!all_informed_of_epoch(op)) return false;
  publish();
  order_mend(op.vid, std::move(op.blocks));
  return true;
}

}  // namespace gnstor::daemon

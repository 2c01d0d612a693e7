/// How an SSD comes to serve at a place: one that is new, or that was away.

#include <daemon/client_rights.hpp>
#include <daemon/manager.hpp>
#include <gnstor/wire/afa/status.hpp>

#include <algorithm>
#include <utility>

namespace gnstor::daemon {

using wire::afa::admin_opcode;

void manager::ssd_replaced(std::uint32_t ssd, std::vector<std::uint16_t> has,
                           std::optional<ssd_report> says) {
  queue_.push_back(
      {.what = action::replace, .ssd = ssd, .has = std::move(has), .says = std::move(says)});
}

bool manager::advance_replace(operation& op) {
  if (op.gone || op.step >= replacing::withdrawing) return gives_up(op);
  if (op.step == 0) {
    if ((now_serving_.absent & bit(op.ssd)) == 0) return op.place ? unfit(op) : true;
    op.step = replacing::telling;
  }
  if (op.step < replacing::fencing && !fits(op)) return unfit(op);
  const bool knows_itself = op.step > replacing::telling && op.step < replacing::fencing;
  if (knows_itself && op.repair == 0 && op.known_epoch != now_serving_.epoch)
    op.step = replacing::telling;
  while (op.step == replacing::telling || op.step == replacing::attaching) {
    ssd_order o;
    o.opcode = admin_opcode::array_update;
    o.membership = present_membership();
    o.others = now_serving_.others;
    if (!all_informed(op, bit(op.ssd), o)) return false;
    if (op.refusal != 0) return unfit(op);
    if (op.step == replacing::telling) {
      begins_to_forget(op);
    } else {
      op.step = replacing::forgetting;
    }
  }
  if (op.step == replacing::forgetting && !forgets(op)) return false;
  if (op.step == replacing::counting) begins_to_lose(op);
  if (!takes_volumes(op)) return false;
  if (op.gone) return gives_up(op);
  if (op.step == replacing::fencing && !fences(op)) return false;
  if (op.step == replacing::forgetting_last && !forgets_last(op)) return false;
  if (op.step == replacing::withdrawing) return gives_up(op);
  if (op.step == replacing::taking) takes_place(op);
  if (!all_informed_of_epoch(op)) return false;
  publish();
  if ((now_serving_.filling & bit(op.ssd)) != 0) start_fill(op.ssd);
  return true;
}

/// False: another SSD serves where the one of a replacement was to, or it can serve nowhere.
bool manager::fits(const operation& op) const {
  // One that stood in where it is not needed any more stays a spare.
  if (!op.place && plans_.of(op.ssd) == ssd_aim::spare && place_for(op) == op.ssd) return false;
  return op.place ? may_stand_in(op.ssd, *op.place) == hindrance::none : has_room_at(place_for(op));
}

/// Looks which volumes the SSD of a replacement is to lose, and which to learn of.
void manager::begins_to_lose(operation& op) {
  op.step = replacing::losing;
  op.left.clear();
  op.learnt.clear();
  op.kept.clear();
  op.counts = op.place ? ssd_absences::absence{} : still_counts(op);
  const std::uint64_t here = bit(place_for(op));
  for (const auto& [vid, v] : volumes_) {
    if ((places(v.r) & here) != 0) op.left.push_back(vid);
  }
  for (const std::uint16_t vid : op.has) {
    if (find(vid) == nullptr || (places(find(vid)->r) & here) == 0) op.left.push_back(vid);
  }
}

/// Has the SSD of a replacement lose what it had, and know the volumes of its place. First all goes
/// that does not count, whose names others may have by now; then what counts is brought up to date,
/// and what is missing is added. False: it has not answered. One that refuses is `gone`.
bool manager::takes_volumes(operation& op) {
  const std::uint64_t here = bit(place_for(op));
  while (op.step < replacing::fencing) {
    if (op.step == replacing::losing && op.left.empty()) op.step = replacing::learning;
    if (op.step == replacing::learning && op.learnt.empty()) {
      std::erase_if(op.partly, [&](const auto& e) { return !op.counts.changed.contains(e.first); });
      op.step = waits_for_marks(op) ? replacing::fencing : replacing::taking;
      return true;
    }
    const bool loses = op.step == replacing::losing;
    const std::uint16_t vid = loses ? op.left.back() : op.learnt.back();
    const auto change = kept_by(op, vid);
    ssd_order o;
    o.vid = vid;
    if (loses) {
      if (!change) {  // it may have missed newer writes, and has nothing from now on
        if (op.says) forget_said(op, vid);
        o.opcode = admin_opcode::volume_delete;  // without a hash factor: whatever has this VID
        if (!all_informed(op, bit(op.ssd), o)) return false;
        op.gone =
            op.refusal != 0 && !wire::afa::is_status(op.refusal, wire::afa::status::unknown_volume);
        if (op.gone) return true;
        op.partly.erase(vid);
      }
      if (change && !loses_name(op, vid)) return false;
      op.left.pop_back();
      const volume* const v = find(vid);
      if (v == nullptr || (places(v->r) & here) == 0) continue;  // deleted while it was away
      op.learnt.insert(change ? op.learnt.end() : op.learnt.begin(), vid);
    } else if (change) {
      o.opcode = admin_opcode::volume_chmod;
      o.chmod = *change;
      if (!op.sent) note_sent(op, *change);
      if (!all_informed(op, bit(op.ssd), o)) return false;
      op.learnt.pop_back();
      if (op.refusal == 0) note_said(op, *change);
      if (op.refusal == 0 && op.counts.volumes.contains(vid)) {
        op.kept.push_back(vid);
      } else if (op.refusal == 0) {
        op.partly.try_emplace(vid);  // what is unknown of it is asked for
      } else {
        op.counts.volumes.erase(vid);
        op.counts.changed.erase(vid);
        op.left.push_back(vid);
        op.step = replacing::losing;
      }
    } else {
      // Where a failure has it begin again, it may have another place.
      if (std::find(op.has.begin(), op.has.end(), vid) == op.has.end()) op.has.push_back(vid);
      o.opcode = admin_opcode::volume_add;
      o.record = find(vid)->r;
      o.record.epoch = now_serving_.epoch;  // who takes over sees that it was made now
      if (!all_informed(op, bit(op.ssd), o)) return false;
      op.gone = op.refusal != 0;
      if (op.gone) return true;
      op.learnt.pop_back();
    }
  }
  return true;
}

/// Has the SSD lose the name of a volume that it keeps, where that has another one by now: another
/// volume may have it. False: it has not answered.
bool manager::loses_name(operation& op, std::uint16_t vid) {
  const auto has = std::find_if(op.says->volumes.begin(), op.says->volumes.end(),
                                [=](const wire::afa::volume_record& r) { return r.vid == vid; });
  if (has->name.empty() || has->name == record_of(vid)->name) return true;
  ssd_order o;
  o.opcode = admin_opcode::volume_chmod;
  o.vid = vid;
  o.chmod.version = wire::afa::payload_version;
  o.chmod.vid = vid;
  o.chmod.sets = wire::afa::volume_chmod::sets_name;
  if (!op.sent) note_sent(op, o.chmod);
  if (!all_informed(op, bit(op.ssd), o)) return false;
  if (op.refusal == 0) note_said(op, o.chmod);
  return true;
}

/// Notes what the SSD of a replacement may say of a volume before it has answered: whom it may let
/// in by then, and in which epoch.
void manager::note_sent(operation& op, const wire::afa::volume_chmod& change) {
  if (auto* const away = absences_.of(op.ssd)) away->informed[change.vid] = now_serving_.epoch;
  for (wire::afa::volume_record& r : op.says->volumes) {
    if (r.vid != change.vid) continue;
    for (std::uint32_t k = 0; k < change.client_count; ++k) {
      const wire::afa::volume_client& c = change.clients[k];
      if (!has_rights(r, c.client) && r.client_count < wire::afa::max_volume_clients)
        r.clients[r.client_count++] = c;
    }
  }
}

/// It says nothing of a volume any more that counts.
void manager::forget_said(operation& op, std::uint16_t vid) {
  std::erase_if(op.says->volumes, [=](const wire::afa::volume_record& r) { return r.vid == vid; });
  if (auto* const away = absences_.of(op.ssd)) away->informed.erase(vid);
}

/// Notes what the SSD of a replacement says of a volume from now on, for another attempt.
void manager::note_said(operation& op, const wire::afa::volume_chmod& change) {
  for (wire::afa::volume_record& r : op.says->volumes) {
    if (r.vid == change.vid) apply(r, change);
  }
}

/// Has the SSD of a replacement take writes at its place in the next epoch, beside whoever serves
/// there.
void manager::takes_place(operation& op) {
  op.step = replacing::informing;
  const std::uint32_t place = place_for(op);
  kept_[op.ssd] = {op.kept, {op.partly, op.counts.together, op.counts.lost}};
  out_.attached.push_back(op.ssd);
  // Who stood in there and has failed since has nothing that counts.
  std::uint64_t former = bit(op.ssd);
  if (op.place) former |= now_serving_.others.of(bit(place)) & now_serving_.absent;
  // Volumes that it was let keep in part are as if it had never left.
  absences_.return_to(place, op.partly.empty() ? 0 : op.counts.together);
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if (((former | bit(place)) & bit(k)) != 0) absences_.end(k);
  }
  wire::afa::stand_ins others = now_serving_.others;
  if (op.place) others = others.without(former).with(place, op.ssd);
  if (std::exchange(op.fenced_at, 0) == 0) change_epoch(now_serving_.absent, now_serving_.filling);
  now_serving_.absent &= ~bit(op.ssd);
  now_serving_.filling |= bit(op.ssd);
  now_serving_.others = others;
}

/// The SSD that was to replace another does not do: its place stays empty, and somebody hears so.
bool manager::unfit(const operation& op) {
  if (!op.gone) absences_.end(op.ssd);  // else what it has forgotten by then it has marked
  if (op.attached) out_.detached.push_back(op.ssd);
  out_.unfit.push_back(op.ssd);
  return true;
}

/// The same where others may have heard that it serves: they hear of another epoch. One that is not
/// gone begins again. True when it is over.
bool manager::gives_up(operation& op) {
  if (op.repair != 0) cancel(std::exchange(op.repair, 0));
  const bool may_be_known = op.fenced_at != 0 || op.step >= replacing::withdrawing;
  if (!may_be_known) return unfit(op);
  if (op.step != replacing::withdrawn) {
    op.step = replacing::withdrawn;
    op.sent = false;
    op.fenced_at = 0;
    change_epoch(now_serving_.absent, now_serving_.filling);
    give_up_repairs();
  }
  if (!all_informed_of_epoch(op)) return false;
  publish();
  if (op.gone) return unfit(op);
  op.step = replacing::telling;
  return advance_replace(op);
}

}  // namespace gnstor::daemon

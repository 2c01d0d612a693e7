/// How a volume is spread over one SSD more of its array.

#include <daemon/client_rights.hpp>
#include <daemon/manager.hpp>
#include <gnstor/wire/afa/status.hpp>

#include <algorithm>
#include <iterator>

namespace gnstor::daemon {

using wire::afa::admin_opcode;
using wire::afa::right_fill;
using wire::afa::right_read;
using wire::afa::right_write;
using wire::afa::volume_record;
using wire::afa::volume_spread;

/// All replicas are made equal, unless somebody writes; the SSD that joins is given its share, and
/// nobody knows; then every SSD is informed where the volume lies; then there is another epoch, so
/// that nobody reads or writes by the former placement; and only then the others drop what has
/// moved. From the last copy to that epoch nobody may write.
///
/// Until all is copied it can be given up, and is: by a failure of the SSD, or of this manager.
/// From the first SSD on that is informed it is finished, by whichever manager.
bool manager::advance_spread(operation& op) {
  if (op.step == 0 && !begins_spread(op)) return true;
  const bool apart = is_torn(volumes_[op.vid].r) || is_exchanging() || hold_is_over(op);
  if (is_copying(op) && apart) gives_move_up(op);
  if (op.step == 1) {
    if (!fenced(op)) return false;
    if (op.refusal != 0) {
      answer(op, verdict::refused);
      return true;
    }
    op.step = volumes_[op.vid].unequal ? 2 : 3;
  }
  if (op.step == 2) {
    order_repair(op, repair_kind::converge);
    return false;  // `finished` goes on
  }
  if (is_copying(op) || op.step >= giving_up) {
    const bool over = joins(op);
    if (op.step != telling) return over;
  }
  if (op.step == telling) {
    wire::afa::volume_record r = volumes_[op.vid].r;
    r.ssd_count = op.ssd + 1;
    r.spread = volume_spread::moved;
    if (!chmod(op, settled(r, volumes_[op.vid].writer))) return false;
    if (op.refusal != 0) {  // but some may know: it is finished when it is asked for again
      volumes_[op.vid].r = r;
      answer(op, verdict::failed);
      return true;
    }
    op.step = releasing;
  }
  if (op.step == releasing) {
    if (!lets_write(op)) return false;
    op.step = moving_on;
  }
  if (!moved_on(op)) return false;
  const volume* v = find(op.vid);
  const bool over =
      v->r.spread != volume_spread::moved && v->r.ssd_count > op.ssd && !is_held(v->r);
  answer(op, over ? verdict::done : verdict::failed);
  return true;
}

/// Decides whether a volume may be spread. False: that is answered.
bool manager::begins_spread(operation& op) {
  const volume* v = find(op.vid);
  if (v == nullptr || is_torn(v->r)) {
    answer(op, v == nullptr ? verdict::unknown_volume : verdict::torn_volume);
    return false;
  }
  // It is about to become narrower, or some SSD knows it otherwise.
  if (v->r.spread == volume_spread::gathering || unadopted_.contains(op.vid)) {
    answer(op, verdict::busy);
    return false;
  }
  if (v->r.spread == volume_spread::moved || is_held(v->r)) {  // a former one was refused half-way
    takes_over_hold(op);
    const bool moved = v->r.spread == volume_spread::moved;
    op.ssd = moved ? v->r.ssd_count - 1 : v->r.ssd_count;
    op.step = moved ? telling : releasing;
    return true;
  }
  if (v->r.ssd_count >= options_.ssds) {
    answer(op, verdict::done);
    return false;
  }
  op.ssd = v->r.ssd_count;
  const bool away = ((now_serving_.absent | now_serving_.filling | plans_.kept_free() |
                      now_serving_.others.all()) &
                     bit(op.ssd)) != 0 ||
                    is_exchanging();
  if (away) {
    answer(op, verdict::busy);
    return false;
  }
  op.step = begins_beside_writer(op) ? 3 : 1;
  return true;
}

/// Gives the SSD that joins its share, until the step says that all others may be informed. True if
/// it was given up, and the operation is over.
bool manager::joins(operation& op) {
  const volume& v = volumes_[op.vid];
  const bool is_there = (present() & bit(op.ssd)) != 0;
  if (!is_there && op.step < giving_up) gives_move_up(op);
  if (op.step >= giving_up && !lets_write_where_it_was(op)) return false;
  ssd_order o;
  o.vid = op.vid;
  o.opcode = admin_opcode::volume_delete;  // what an attempt that was cut short has left
  if (op.step == giving_up) {
    if (is_there && !all_informed(op, bit(op.ssd), o)) return false;
    if (is_there && is_refused(op))
      again_later({.what = action::forget, .vid = op.vid, .ssd = op.ssd});
    answer(op, op.put_off ? verdict::busy : verdict::failed);
    return true;
  }
  if (op.step == 3) {
    if (!all_informed(op, bit(op.ssd), o)) return false;
    op.step = 4;
  }
  if (op.step == 4) {
    o.opcode = admin_opcode::volume_add;
    o.record = v.r;
    o.record.ssd_count = op.ssd + 1;
    o.record.spread = volume_spread::joining;
    o.record.client_count = 1;  // nobody else reads or writes there
    std::fill(std::begin(o.record.clients), std::end(o.record.clients), wire::afa::volume_client{});
    o.record.clients[0] = {options_.client, std::uint16_t(right_read | right_fill | right_write)};
    if (!all_informed(op, bit(op.ssd), o)) return false;
    if (op.refusal != 0) {
      answer(op, verdict::refused);
      return true;
    }
    op.step = op.live ? moving::watching : copying;
  }
  if (op.step >= moving::watching) {
    moves_beside_writer(op, repair_kind::spread);
    if (op.step == giving_up) return joins(op);
  } else if (op.step == copying) {
    order_repair(op, repair_kind::spread);
  } else {
    op.step = telling;  // `finished` has come here
  }
  return false;
}

/// Begins another epoch, and has what was moved dropped where it was. A spread's last steps, and
/// what is left of one that another manager began.
bool manager::moved_on(operation& op) {
  if (op.step == moving_on) {
    change_epoch(now_serving_.absent, now_serving_.filling);
    give_up_repairs();
    op.step = moving_on + 1;
  }
  if (op.step == moving_on + 1) {
    if (!all_informed_of_epoch(op)) return false;
    publish();
    op.step = moving_on + 2;
    for (const auto& [vid, v] : volumes_) {
      // One that only some SSDs know is not this operation's.
      const bool concerned = op.what == action::move_on || vid == op.vid;
      const bool agreed = !unadopted_.contains(vid);  // else some SSD has it elsewhere yet
      if (concerned && agreed && v.r.spread == volume_spread::moved) op.left.push_back(vid);
    }
  }
  for (; !op.left.empty(); op.left.pop_back()) {
    op.vid = op.left.back();
    if (!op.cleared && !cleared(op)) return false;
    op.cleared = false;
    if (op.refusal != 0) continue;  // it is dropped when that SSD has lost it
    wire::afa::volume_chmod change{};
    change.ssd_count = volumes_[op.vid].r.ssd_count;
    change.spread = volume_spread::dropping;
    op.cleared = true;
    if (!chmod(op, change)) return false;
    op.cleared = false;
  }
  return true;
}

/// Has the operation's volume deleted where it does not lie any more. Before anybody drops what has
/// moved: a manager that takes over could not tell which of two placements is the later one.
bool manager::cleared(operation& op) {
  ssd_order o;
  o.vid = op.vid;
  o.opcode = admin_opcode::volume_delete;
  const volume_record& r = volumes_[op.vid].r;
  const std::uint64_t beyond = present() & ~own(r);
  if (!op.sent && is_torn(r)) {  // some SSD may have the only copy: not now
    op.refusal = wire::afa::make_status(wire::afa::status::not_permitted);
    return true;
  }
  if (beyond != 0 && !all_informed(op, beyond, o)) return false;
  if (beyond == 0 || wire::afa::is_status(op.refusal, wire::afa::status::unknown_volume))
    op.refusal = 0;
  return true;
}

/// The same of a volume that is to go, whatever anybody has of it: who takes over would find it
/// there.
bool manager::left_behind_is_gone(operation& op) {
  ssd_order o;
  o.vid = op.vid;
  o.opcode = admin_opcode::volume_delete;
  const volume_record& r = volumes_[op.vid].r;
  if (is_moving(r.spread) && !all_informed(op, present() & ~own(r), o)) return false;
  op.cleared = !is_moving(r.spread) || !is_refused(op);
  return true;
}

/// Takes back from an SSD its part of a spread that was not finished.
bool manager::advance_forget(operation& op) {
  const volume* const v = find(op.vid);
  const std::uint64_t whom = op.again && v != nullptr ? ~own(v->r) : bit(op.ssd);
  if (v != nullptr && (own(v->r) & whom) != 0) return true;  // it lies there by now
  ssd_order o;
  o.vid = op.vid;
  o.opcode = admin_opcode::volume_delete;
  if (!all_informed(op, present() & whom, o)) return false;
  return !is_refused(op) || again_later(op);
}

}  // namespace gnstor::daemon

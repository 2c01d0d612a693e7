#include <daemon/client_rights.hpp>
#include <daemon/manager.hpp>
#include <gnstor/wire/afa/dirty_regions.hpp>
#include <gnstor/wire/afa/status.hpp>

#include <algorithm>

namespace gnstor::daemon {

using wire::afa::admin_opcode;
using wire::afa::right_admitted;
using wire::afa::right_fill;
using wire::afa::right_read;
using wire::afa::right_write;
using wire::afa::volume_client;

/// Decides where a volume is to lie. False: there will be none, which is answered.
bool manager::begins_create(operation& op) {
  if (unadopted_.contains(op.vid)) {  // it may be one that goes, or that only some SSD has
    answer(op, verdict::busy);
    return false;
  }
  if (find(op.vid) != nullptr) {
    answer(op, verdict::volume_exists);
    return false;
  }
  if (is_taken(op.r.name, op.vid)) {
    answer(op, verdict::name_exists);
    return false;
  }
  if (op.vid == 0) op.r.vid = op.vid = free_vid();
  if (op.vid == 0 || op.r.client_count >= wire::afa::max_volume_clients) {
    answer(op, verdict::refused);
    return false;
  }
  op.r.epoch = now_serving_.epoch;
  op.r.spread = wire::afa::volume_spread::whole;
  if (op.r.ssd_count == 0) op.r.ssd_count = width();
  if (op.r.stripe_blocks != 0)
    op.r.region_shift = wire::afa::region_shift_for(
        (op.r.capacity_blocks + op.r.stripe_blocks - 1) / op.r.stripe_blocks);
  if (is_torn(op.r)) {
    answer(op, verdict::torn_volume);
    return false;
  }
  if ((places(op.r) & now_serving_.others.all()) != 0) {
    answer(op, verdict::refused);  // that SSD has what lies at another place
    return false;
  }
  if (is_crowded(op.r, 0)) {
    answer(op, verdict::busy);  // no SSD can have its replicas beside those
    return false;
  }
  op.r.clients[op.r.client_count++] = {options_.client, std::uint16_t(right_read | right_fill)};
  op.step = 1;
  return true;
}

bool manager::advance_create(operation& op) {
  if (op.step == 0 && !begins_create(op)) return true;
  ssd_order o;
  o.vid = op.vid;
  o.record = op.r;
  if (op.step == 1) {  // each SSD keeps a place for it
    o.opcode = admin_opcode::volume_add;
    o.record.spread = wire::afa::volume_spread::creating;
    if (!all_informed(op, present() & own(op.r), o)) return false;
    op.step = op.refusal != 0 ? 3 : 2;
  }
  if (op.step == 2) {  // from the first that is informed on, it is there
    o.opcode = admin_opcode::volume_add;
    o.record.spread = wire::afa::volume_spread::whole;
    if (!all_informed(op, present() & own(op.r), o)) return false;
    if (!is_refused(op)) {
      volumes_[op.vid].r = op.r;
      answer(op, verdict::done);
      return true;
    }
    op.step = 4;  // a manager that found that SSD alone would take it for nobody's
    op.added = own(op.r);
  }
  if (op.step == 4) {
    o.opcode = admin_opcode::volume_chmod;
    o.chmod = going(op.vid);
    if (!all_informed(op, present() & op.added, o)) return false;
    if (is_refused(op)) {
      drops_later(op.r, op.added);
      answer(op, verdict::refused);
      return true;
    }
    op.step = 3;
  }
  // Who refused it has another volume of this VID: that one is not this operation's to delete.
  o.opcode = admin_opcode::volume_delete;
  if (!all_informed(op, present() & op.added, o)) return false;
  if (is_refused(op)) drops_later(op.r);
  answer(op, verdict::refused);
  return true;
}

/// Takes the write right of the operation's volume, whoever had it; nothing, if an SSD refuses.
bool manager::fenced(operation& op) {
  // Its replicas may be made equal next, or it may come to lie elsewhere.
  if (moves_data(op)) absences_.forget(op.vid);
  absences_.changes(op.vid);
  volume& v = volumes_[op.vid];
  std::vector<volume_client> fence;
  // It reads on, unless who is next needs its place.
  const bool full = v.r.client_count == wire::afa::max_volume_clients && v.writer != op.client;
  const std::uint16_t reads = full ? std::uint16_t{0} : right_read;
  if (v.writer != 0) fence.push_back({v.writer, std::uint16_t(reads | kept_rights(v.r, v.writer))});
  fence.push_back({options_.client, std::uint16_t(right_read | right_fill | right_write)});
  if (!chmod(op, fence)) return false;
  if (op.refusal != 0) return true;
  v.unequal = v.unequal || v.writer != 0;
  v.writer = 0;
  return true;
}

void manager::order_repair(operation& op, repair_kind kind) {
  if (op.repair != 0) return;
  op.repair = next_id_++;
  out_.repairs.push_back({op.repair, kind, op.vid, op.ssd});
  out_.repairs.back().zeroes = op.zeroes;
}

/// True if nobody needs to know where a volume was written: no SSD that is away, and no move of it.
bool manager::needs_no_marks(std::uint16_t vid) const {
  return !absences_.need_marks(vid) &&
         std::none_of(queue_.begin(), queue_.end(), [=](const operation& op) {
           return moves_data(op) && op.vid == vid && op.live;
         });
}

/// Whoever writes next gets the right when the one before is fenced and all replicas are equal, and
/// each SSD knows that they are: what it marks as dirty from then on is the next one's. That comes
/// before the right does, or it could undo a mark.
bool manager::advance_open(operation& op) {
  volume* v = find(op.vid);
  if (v == nullptr || is_torn(v->r)) {
    answer(op, v == nullptr ? verdict::unknown_volume : verdict::torn_volume);
    return true;
  }
  switch (op.step) {
    case 0:
      if (op.admitted != 0 && !has_rights(v->r, op.admitted)) {  // expelled while this waited
        answer(op, verdict::not_admitted);
        return true;
      }
      if (op.write && (is_unfinished(op.vid) || unadopted_.contains(op.vid) ||
                       (v->writer != 0 && v->writer != op.client && v->lease_until > now_) ||
                       (v->writer != 0 && op.levels))) {
        answer(op, verdict::busy);
        return true;
      }
      if (!op.write && !op.levels && !has_room_for_host(v->r, op.client)) {
        answer(op, verdict::refused);
        return true;
      }
      op.step = !op.write ? granting : v->writer != 0 || v->unequal ? 1 : cleaning;
      return advance_open(op);
    case 1:
      if (!fenced(op)) return false;
      if (op.refusal != 0) {
        answer(op, verdict::refused);
        return true;
      }
      op.step = converging;
      return advance_open(op);
    case converging: order_repair(op, repair_kind::converge); return false;  // `finished` goes on
    case cleaning: {
      if (!needs_no_marks(op.vid)) {
        op.step = granting;
        return advance_open(op);
      }
      wire::afa::volume_chmod clean{};
      clean.sets = wire::afa::volume_chmod::sets_clean;
      if (!chmod(op, clean)) return false;
      op.step = granting;  // an SSD that refuses keeps its marks, and only compares more
      return advance_open(op);
    }
    default: {
      if (op.levels) {
        answer(op, verdict::done);
        return true;
      }
      std::vector<volume_client> rights = {{options_.client, right_read | right_fill}};
      const bool keeps = v->writer == op.client && v->lease_until != 0;
      const std::uint16_t admitted = op.admits ? right_admitted : kept_rights(v->r, op.client);
      const std::uint16_t writes = op.write || keeps ? right_write : std::uint16_t{0};
      rights.push_back({op.client, std::uint16_t(admitted | right_read | writes)});
      if (op.write) {  // where this ends half-way some SSDs know it: whoever is next fences it
        absences_.changes(op.vid);
        v->writer = op.client;
        v->lease_until = 0;
      }
      if (!chmod(op, rights)) return false;
      if (op.refusal != 0) {
        answer(op, verdict::refused);
        return true;
      }
      if (op.write) v->lease_until = now_ + options_.lease_ns;
      answer(op, verdict::done, op.write ? v->lease_until : 0);
      return true;
    }
  }
}

/// True if an SSD refused to change a volume, so that it may know it as it was, and rights that are
/// taken. Of a volume that it does not have it knows none.
bool manager::is_refused(const operation& op) {
  return op.refusal != 0 && !wire::afa::is_status(op.refusal, wire::afa::status::unknown_volume);
}

/// Withdraws the rights of a client to the operation's volume. Where an SSD refuses, the client
/// may write on there, with a lease that has passed: whoever writes next fences it.
/// @param all also that it was admitted
bool manager::withdrawn(operation& op, bool clean, bool all) {
  volume& v = volumes_[op.vid];
  const bool reads_on = op.reads_on && has_rights(v.r, op.client);
  const std::uint16_t kept =
      all ? std::uint16_t{0}
          : std::uint16_t(kept_rights(v.r, op.client) | (reads_on ? right_read : 0));
  wire::afa::volume_chmod change{};
  change.clients[change.client_count++] = {op.client, kept};
  // Asked again after a failure it is as true: nobody got the right meanwhile.
  if (clean && v.writer == op.client && !v.unequal && needs_no_marks(op.vid))
    change.sets = wire::afa::volume_chmod::sets_clean;
  if (!chmod(op, change)) return false;
  if (v.writer != op.client) return true;
  if (is_refused(op)) {
    v.lease_until = 0;
  } else {
    v.writer = 0;
    v.unequal = v.unequal || !clean;
  }
  return true;
}

bool manager::advance_close(operation& op) {
  if (find(op.vid) == nullptr) {
    answer(op, verdict::unknown_volume);
    return true;
  }
  if (!withdrawn(op, op.clean, op.what == action::expel)) return false;
  answer(op, is_refused(op) ? verdict::refused : verdict::done);
  return true;
}

bool manager::advance_rename(operation& op) {
  if (find(op.vid) == nullptr) {
    answer(op, verdict::unknown_volume);
    return true;
  }
  if (!op.sent && is_taken(op.change.name, op.vid)) {
    answer(op, verdict::name_exists);
    return true;
  }
  if (!chmod(op, op.change)) return false;
  answer(op, op.refusal == 0 ? verdict::done : verdict::refused);
  wire::afa::volume_record& r = volumes_[op.vid].r;
  const bool grows = (op.change.sets & wire::afa::volume_chmod::sets_capacity) != 0 &&
                     op.change.capacity_blocks > r.capacity_blocks;
  if (!is_refused(op) || !grows) return true;
  r.capacity_blocks = op.change.capacity_blocks;  // where it was not refused there is no way back
  return again_later({.what = action::adopt, .vid = op.vid, .r = r, .step = 1});
}

bool manager::advance_leave(operation& op) {
  bool refused = false;  // asked for again, it goes on
  if (op.step == 0) {
    for (auto& [vid, v] : volumes_) {
      if (has_rights(v.r, op.client)) op.left.push_back(vid);
    }
    op.step = 1;
  }
  for (; !op.left.empty(); op.left.pop_back()) {
    op.vid = op.left.back();
    if (!withdrawn(op, false, op.all)) return false;
    refused = refused || is_refused(op);
    if (refused && op.all) break;
  }
  op.vid = 0;
  if (op.all) answer(op, refused ? verdict::refused : verdict::done);
  return true;
}

/// Begins fills anew that may have left a volume out, also those that are over and not settled yet.
void manager::refill() {
  std::erase_if(queue_, [](const operation& op) {
    return op.what == action::settle && op.step == 0 && !op.current;
  });
  for (auto& [ssd, id] : fills_) {
    cancel(id);
    start_fill(ssd);
  }
}

/// Ends a removal that an SSD has refused. Where another one knows of it there is no way back: it
/// is repeated, and goes on where somebody asks again, or takes over.
bool manager::stays(operation& op) {
  if (std::exchange(volumes_[op.vid].going, false)) refill();
  answer(op, verdict::refused);
  const std::uint64_t others = own(volumes_[op.vid].r) & present() & ~op.added;
  if (!op.again && (op.added == 0 || others == 0)) return true;
  op.request = op.step = 0;
  op.r = volumes_[op.vid].r;  // and no later one of its VID
  op.cleared = false;
  op.in_use = true;
  return again_later(op);
}

/// Has nobody repair a volume that is removed. What a repair has read of it must not reach a later
/// one of its VID: the next epoch refuses it.
/// @return 1: that begins; 2: there is no need
std::uint32_t manager::begins_to_go(operation& op) {
  volumes_[op.vid].going = true;
  absences_.forget(op.vid);
  if (fills_.empty() && scrubs_.empty() && mends_.empty()) return 2;
  change_epoch(now_serving_.absent, now_serving_.filling);
  give_up_repairs();
  return 1;
}
/// True when it has begun. One that was repeated has informed the SSDs of the removal already.
bool manager::repairs_end(operation& op) {
  if (!all_informed_of_epoch(op)) return false;
  publish();
  op.step = op.again ? 3 : 2;
  return true;
}

bool manager::advance_remove(operation& op) {
  if (op.step == 0) {  // it is only now known which volume this is, and who may write it
    const volume* v = find(op.vid);
    const bool another =
        v != nullptr && op.r.hash_factor != 0 && v->r.hash_factor != op.r.hash_factor;
    if (v == nullptr || another) {
      answer(op, verdict::unknown_volume);
      return true;
    }
    const bool others = v->writer != 0 && v->writer != op.client && v->lease_until > now_;
    if (others && !op.in_use) {
      answer(op, verdict::busy);
      return true;
    }
    if (op.again) op.added |= own(v->r);  // SSDs that were given it since may not know
    op.step = op.again ? 2 : begins_to_go(op);
  }
  if (op.step == 1 && !repairs_end(op)) return false;
  if (op.step == 2 && !op.cleared && !left_behind_is_gone(op)) return false;
  if (op.step == 2 && !op.cleared) return stays(op);
  if (op.step == 2) {
    ssd_order o;
    o.opcode = admin_opcode::volume_chmod;
    o.vid = op.vid;
    o.chmod = going(op.vid);
    if (!op.again && op.added == 0) op.added = own(volumes_[op.vid].r);
    if (!all_informed(op, present() & op.added, o)) return false;
    if (is_refused(op)) return stays(op);
    op.step = !op.again || begins_to_go(op) == 2 ? 3 : 1;
    if (op.step == 1 && !repairs_end(op)) return false;
  }
  ssd_order o;
  o.opcode = admin_opcode::volume_delete;
  o.vid = op.vid;
  o.record = volumes_[op.vid].r;
  const bool anywhere = op.again || unadopted_.contains(op.vid);
  if (!all_informed(op, present() & (anywhere ? everyone() : own(o.record)), o)) return false;
  volumes_.erase(op.vid);
  unadopted_.erase(op.vid);
  if (is_refused(op)) drops_later(o.record);
  answer(op, verdict::done);
  return true;
}

}  // namespace gnstor::daemon

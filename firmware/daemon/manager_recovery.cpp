#include <daemon/client_rights.hpp>
#include <daemon/manager.hpp>

#include <algorithm>

namespace gnstor::daemon {

using wire::afa::admin_opcode;
using wire::afa::volume_record;
using wire::afa::volume_spread;

void manager::recover(const std::vector<std::optional<ssd_report>>& reports, std::uint64_t now) {
  *this = manager(options_);
  now_ = now;
  knows_epoch_ = false;
  std::uint64_t answering = 0;
  std::uint64_t takes_writes = 0;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if (!reports[k]) continue;
    answering |= bit(k);
    takes_writes |= reports[k]->serving.filling & bit(k);
    if (reports[k]->serving.epoch > now_serving_.epoch) now_serving_ = reports[k]->serving;
  }
  // Who does not answer may have heard of the next epoch, from a manager that ended then: no other
  // membership gets its number.
  if (answering != everyone()) ++now_serving_.epoch;
  // Front ends may have forgotten it; an absent SSD would serve who knows its epoch.
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((now_serving_.absent & bit(k)) != 0) out_.detached.push_back(k);
  }
  // Who is to be filled and does not know may still have what others have changed since it left.
  const std::uint64_t unaware = now_serving_.filling & ~takes_writes;
  attach_unreleased(answering, unaware);
  const auto found = learn(reports);
  bool moved = false;
  std::uint64_t lost = 0;
  for (const auto& [vid, f] : found) {
    // Nobody knows whether all was copied: it stays where it was, and what was copied is dropped.
    volume_spread& spread = volumes_[vid].r.spread;
    if (spread == volume_spread::gathering) spread = volume_spread::moved;
    moved = moved || spread == volume_spread::moved || is_held(volumes_[vid].r);
    lost |= adopt(vid, f, present() & answering);
  }
  if (moved) queue_.push_back({.what = action::move_on, .step = moving_on});
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((now_serving_.filling & bit(k)) != 0) start_fill(k);
  }
  // Who knows the last epoch only in part is informed first.
  queue_.push_front({.what = action::settle, .step = 1});
  const std::uint64_t failed = (present() & (~answering | unaware)) | lost;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((failed & bit(k)) != 0) ssd_failed(k);
  }
}

/// Has front ends serve the SSDs again that the manager before this one was about to release when
/// it ended: refused already, they are in sync in the epoch that all SSDs know, where whoever
/// follows them may be not. Where an SSD does not answer nobody knows whether that was the last
/// epoch: they stay as they are.
/// @param but SSDs that leave
void manager::attach_unreleased(std::uint64_t answering, std::uint64_t but) {
  if ((present() & ~answering) != 0) return;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((side_by_side() & ~but & bit(k)) != 0) out_.attached.push_back(k);
  }
}

/// Puts together what the SSDs that take part say of each volume.
std::map<std::uint16_t, manager::finding> manager::learn(
    const std::vector<std::optional<ssd_report>>& reports) {
  std::map<std::uint16_t, finding> found;
  std::vector<std::pair<std::uint16_t, std::uint32_t>> joining;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((present() & bit(k)) == 0 || !reports[k]) continue;
    for (const volume_record& r : reports[k]->volumes) {
      if (r.spread == volume_spread::joining) {
        joining.push_back({r.vid, k});
        continue;
      }
      finding& f = found[r.vid];
      f.holders |= bit(k);
      f.confirmed = f.confirmed || is_listed(r.spread);
      if (r.spread == volume_spread::deleting) f.goes |= bit(k);
      for (std::uint32_t c = 0; c < r.client_count; ++c) {
        const bool writes = (r.clients[c].rights & wire::afa::right_write) != 0;
        if (writes) f.writers[r.clients[c].client] |= bit(k);
      }
      volume_record known = r;
      if (r.spread == volume_spread::creating) {
        f.claimed |= bit(k);
        known.spread = volume_spread::whole;
      }
      volume& v = volumes_[r.vid];
      v.changed_in = std::max(v.changed_in, r.epoch);
      f.differs = f.differs || (v.r.vid != 0 && !alike(v.r, known));
      v.r = v.r.vid == 0 ? known : merged(v.r, known);
    }
  }
  // An SSD that has joined a volume knows all of it if any other SSD does.
  for (const auto& [vid, ssd] : joining) {
    const volume* v = find(vid);
    if (v != nullptr && v->r.ssd_count > ssd) {
      found[vid].holders |= bit(ssd);
      found[vid].joined |= bit(ssd);
    } else {
      queue_.push_back({.what = action::forget, .vid = vid, .ssd = ssd});
    }
  }
  return found;
}

/// True if nothing is to be changed of what all SSDs know of a volume.
bool manager::is_settled(const volume& v) const {
  bool repairs = false;
  for (std::uint32_t k = 0; k < v.r.client_count; ++k) {
    const wire::afa::volume_client& c = v.r.clients[k];
    const bool writes = (c.rights & wire::afa::right_write) != 0;
    if (writes && c.client != v.writer) return false;
    repairs = repairs || (c.client == options_.client &&
                          c.rights == (wire::afa::right_read | wire::afa::right_fill));
  }
  return repairs && v.r.spread == volume_spread::whole && !is_held(v.r);
}

/// Who may go on writing a volume: who may on every SSD that it is on, and nobody else on any. A
/// right that is on some SSDs alone was on its way to somebody, or away.
std::uint16_t manager::writer_of(const finding& f, std::uint64_t should) const {
  if (f.writers.size() != 1) return 0;
  const auto& [client, ssds] = *f.writers.begin();
  // One that joins a volume learns of its clients last.
  const bool all = (f.holders & ~(ssds | f.joined)) == 0 && (should & ~(ssds | f.joined)) == 0;
  return client != options_.client && all ? client : std::uint16_t{0};
}

/// True of a volume that nobody may write before another epoch: it was about to lie elsewhere.
bool manager::is_held(const wire::afa::volume_record& r) const {
  return r.held_until > now_serving_.epoch;
}

/// Orders that a volume be brought to a state that all SSDs share.
/// @param here SSDs that take part and answer
/// @return SSDs that should have it, and have lost it: they are to be filled anew
std::uint64_t manager::adopt(std::uint16_t vid, const finding& f, std::uint64_t here) {
  volume& v = volumes_[vid];
  v.unequal = true;
  if (f.goes != 0 && f.confirmed) {  // not all SSDs knew, and none has lost it: it is removed anew
    queue_.push_back({.what = action::remove, .vid = vid, .in_use = true, .again = true, .r = v.r});
    queue_.back().added = f.holders;
    return here & own(v.r) & ~f.holders;
  }
  // One that nobody knows to be on all SSDs was given to nobody; one that is to go goes.
  operation op{.what = action::adopt, .vid = vid, .drops = !f.confirmed, .r = v.r};
  op.added = op.drops ? 0 : f.claimed;
  op.step = op.added != 0 ? 0 : 1;
  if (!op.drops) v.writer = writer_of(f, here & own(v.r));
  // It may have had its lease a moment ago: it gets another one.
  if (v.writer != 0) v.lease_until = now_ + options_.lease_ns;
  if (op.drops || f.differs || f.claimed != 0 || !is_settled(v)) queue_.push_back(op);
  if (!op.drops) return here & own(v.r) & ~f.holders;
  volumes_.erase(vid);
  return 0;
}

/// Brings one volume of an array that is taken over to a state that all SSDs share. Where one
/// refuses that is tried again, and until then nobody is let write.
bool manager::advance_adopt(operation& op) {
  ssd_order o;
  o.vid = op.vid;
  if (op.drops) {
    if (op.step == 0) {  // who takes over next finds it nowhere as if nobody had removed it
      o.opcode = admin_opcode::volume_chmod;
      o.chmod = going(op.vid);
      if (!all_informed(op, present() & op.added, o)) return false;
      if (is_refused(op)) return again_later(op);
      op.step = 1;
    }
    o.opcode = admin_opcode::volume_delete;
    if (op.again) o.record = op.r;  // another one may have its VID by now
    if (!all_informed(op, present(), o)) return false;
    return !is_refused(op) || again_later(op);
  }
  const volume* const v = find(op.vid);
  if (v == nullptr || v->r.hash_factor != op.r.hash_factor) return true;  // that one was removed
  if (op.step == 0) {  // those that only keep a place for it
    o.opcode = admin_opcode::volume_add;
    o.record = v->r;
    if (!all_informed(op, present() & op.added, o)) return false;
    if (is_refused(op)) return again_later(op);
    op.step = 1;
  }
  wire::afa::volume_chmod change = settled(v->r, v->writer);
  if (is_held(v->r)) change.held_until = now_serving_.epoch + 1;
  const bool known = std::any_of(change.clients, change.clients + change.client_count,
                                 [&](const auto& c) { return c.client == options_.client; });
  // Who made the volume without a manager did not admit one, and whom it let read may come back.
  for (std::uint32_t k = 0; !known && k < change.client_count; ++k)
    change.clients[k].rights |= wire::afa::right_admitted;
  if (!known && change.client_count < wire::afa::max_volume_clients) {
    change.clients[change.client_count++] = {
        options_.client, std::uint16_t(wire::afa::right_read | wire::afa::right_fill)};
  }
  if (op.step == 1) {
    if (!chmod(op, change)) return false;
    if (is_refused(op)) return again_later(op);
    op.step = 2;
  }
  // What a spread that was given up has left may have been refused, too.
  if (!op.again || is_moving(v->r.spread)) return true;
  o.opcode = admin_opcode::volume_delete;
  if (!all_informed(op, present() & ~own(v->r), o)) return false;
  op.step = 1;
  return !is_refused(op) || again_later(op);
}

/// Has a volume that is nobody's deleted where that was refused: its VID is taken there until then.
/// @param confirmed SSDs, by bit, that may know it as whole
void manager::drops_later(const volume_record& r, std::uint64_t confirmed) {
  operation op{.what = action::adopt, .vid = r.vid, .drops = true, .r = r};
  op.step = confirmed != 0 ? 0 : 1;
  op.added = confirmed;
  again_later(std::move(op));
}

/// Repeats an adoption in a while, in which some SSD has refused an order. True: it is over so far.
bool manager::again_later(operation op) {
  op.again = true;
  op.current = op.sent = false;
  // A removal stays one, or who wrote the volume meanwhile would lose it with the next manager; and
  // what adopts a volume also has forgotten what a spread has left.
  const auto known = unadopted_.find(op.vid);
  const bool other = known != unadopted_.end() && known->second.what != op.what;
  if (other && (known->second.what == action::remove || op.what == action::forget))
    op = known->second;
  plans_.put_off(op.vid, now_ + options_.try_again_ns);
  at_rest_ = false;
  unadopted_.insert_or_assign(op.vid, std::move(op));
  return true;
}

}  // namespace gnstor::daemon

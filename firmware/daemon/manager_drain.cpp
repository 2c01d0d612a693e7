/// How a volume comes to lie on one SSD fewer of its array, and how SSDs are emptied, or given
/// their share, volume by volume.

#include <daemon/client_rights.hpp>
#include <daemon/manager.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace gnstor::daemon {

using wire::afa::volume_record;
using wire::afa::volume_spread;

namespace {

/// Where somebody writes: too much was written, an SSD failed, or does not know how.
constexpr std::uint64_t try_later_ns = 60'000'000'000;

}  // namespace

// ---- one volume

/// All replicas are made equal, unless somebody writes; the SSDs that stay learn that they are to
/// gather, and are given what the last one holds, which keeps it; then each of them is informed
/// where the volume lies; then there is another epoch, so that nobody reads or writes by the former
/// placement; and only then the last one loses the volume. At no time has a block fewer replicas in
/// sync than it would have anyway.
///
/// Until all is copied it can be given up, and is: by a failure, or with this manager. From the
/// first SSD on that is informed it is finished, by whichever manager.
bool manager::advance_narrow(operation& op) {
  if (op.step == 0 && !begins_narrow(op)) return true;
  if (is_copying(op) && (lacks_heir(op) || hold_is_over(op))) gives_move_up(op);
  if (op.step == 1) {
    if (!fenced(op)) return false;
    if (op.refusal != 0) {
      answer(op, verdict::refused);
      return true;
    }
    op.step = volumes_[op.vid].unequal ? converging : gathering;
  }
  if (op.step == converging) {
    order_repair(op, repair_kind::converge);
    return false;  // `finished` goes on
  }
  if (op.step == gathering) {
    wire::afa::volume_chmod change{};
    change.ssd_count = op.ssd + 1;
    change.spread = volume_spread::gathering;
    op.begun = true;  // some SSD may know
    if (!chmod(op, change)) return false;
    op.step = op.refusal != 0 ? giving_up : op.live ? moving::watching : copying;
  }
  if (is_copying(op) && op.step >= moving::watching) moves_beside_writer(op, repair_kind::drain);
  if (is_copying(op) && op.step >= moving::watching) return false;
  if (op.step == copying) {
    order_repair(op, repair_kind::drain);
    return false;
  }
  if (op.step == copied) op.step = telling;  // `finished` has come here
  return announced(op);
}

/// True while not every SSD that a volume would lie on is in sync: blocks of the last one would
/// have a replica less there.
bool manager::lacks_heir(const operation& op) const {
  return (~now_serving_.sound_places() & (bit(op.ssd) - 1)) != 0 || is_exchanging();
}

/// Decides whether a volume may lie on one SSD fewer. False: that is answered.
bool manager::begins_narrow(operation& op) {
  const volume* v = find(op.vid);
  if (v == nullptr || is_torn(v->r)) {
    answer(op, v == nullptr ? verdict::unknown_volume : verdict::torn_volume);
    return false;
  }
  if (unadopted_.contains(op.vid)) {
    answer(op, verdict::busy);
    return false;
  }
  if (is_moving(v->r.spread) || is_held(v->r)) {  // what was refused half-way is finished first
    takes_over_hold(op);
    op.begun = true;
    op.step = v->r.spread == volume_spread::moved ? telling : giving_up;
    return true;
  }
  if (op.ssd >= v->r.ssd_count) {
    answer(op, verdict::done);
    return false;
  }
  if (op.ssd + 1 != v->r.ssd_count || v->r.replicas > op.ssd) {
    answer(op, verdict::refused);
    return false;
  }
  if (lacks_heir(op)) {
    answer(op, verdict::busy);
    return false;
  }
  op.zeroes = v->r.spread != volume_spread::whole;
  op.step = begins_beside_writer(op) ? gathering : 1;
  return true;
}

/// Informs the SSDs that stay where the volume lies, by the new placement or, where that was given
/// up, by the former; then another epoch begins, and whoever holds too much loses it.
bool manager::announced(operation& op) {
  if (op.step == giving_up && !op.begun) {  // nobody knows anything
    answer(op, verdict::failed);
    return true;
  }
  if (op.step == giving_up && !lets_write(op)) return false;
  if (op.step == telling || op.step == giving_up) {
    volume_record r = volumes_[op.vid].r;
    if (op.step == telling && r.spread == volume_spread::gathering) r.ssd_count = op.ssd;
    r.spread = volume_spread::moved;
    if (op.step == giving_up && is_held(r)) r.held_until = now_serving_.epoch + 1;
    if (!chmod(op, settled(r, volumes_[op.vid].writer))) return false;
    volumes_[op.vid].r.ssd_count = r.ssd_count;
    volumes_[op.vid].r.spread = r.spread;
    if (op.refusal != 0) {  // but some may know: it is finished when it is asked for again
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
  const volume_record& r = volumes_[op.vid].r;
  const bool over = r.spread != volume_spread::moved && r.ssd_count <= op.ssd && !is_held(r);
  answer(op, over ? verdict::done : op.put_off ? verdict::busy : verdict::failed);
  return true;
}

// ---- an SSD

void manager::narrow(std::uint64_t request, std::uint16_t vid, std::uint32_t last) {
  queue_.push_back({.what = action::narrow, .request = request, .vid = vid, .ssd = last});
}

void manager::set_aim(std::uint32_t ssd, ssd_aim aim) {
  at_rest_ = false;
  plans_.set(ssd, aim);
  for (operation& op : queue_) {  // what is under way for the former aim
    const bool aside = stands_aside(op) && is_copying(op) && op.step >= copying;
    if (op.request == 0 && moves_data(op) && aside && op.ssd == ssd) gives_move_up(op);
  }
}

/// Begins to move the next volume of those that are to be, one at a time; or to finish one whose
/// change was refused, or interrupted, half-way, or that some SSD knows otherwise than all others.
void manager::pursue_aims() {
  if (at_rest_ || !knows_epoch_ || current_operation() != nullptr) return;
  const operation* next = nullptr;  // of those that were refused: what waits longest
  for (const auto& [vid, op] : unadopted_) {
    const bool later = next != nullptr && plans_.due(next->vid) <= plans_.due(vid);
    if (!later && !plans_.is_put_off(vid, now_)) next = &op;
  }
  const auto is_it = [&](const operation& op) { return op.again && op.vid == next->vid; };
  if (next != nullptr && std::none_of(queue_.begin(), queue_.end(), is_it)) {
    queue_.push_back(*next);
    return;
  }
  if (std::any_of(queue_.begin(), queue_.end(), moves_data) || is_exchanging()) return;
  bool any = plans_.any() || !unadopted_.empty();
  for (const auto& [vid, v] : volumes_) {
    const bool unfinished = is_unfinished(vid);
    any = any || unfinished;
    const std::uint32_t count = v.r.ssd_count;
    const bool leaves = plans_.of(count - 1) == ssd_aim::drain && v.r.replicas < count;
    const bool grows = plans_.of(count) == ssd_aim::join;
    if (!leaves && !grows && !unfinished) continue;
    if (v.going || is_torn(v.r)) continue;
    if (plans_.is_put_off(vid, now_)) continue;
    queue_.push_back({.what = leaves || !grows ? action::narrow : action::spread, .vid = vid});
    queue_.back().ssd = leaves ? count - 1 : count;
    return;
  }
  at_rest_ = !any;
}

/// What an operation that nobody has asked for has come to.
void manager::note_move(const operation& op, verdict said) {
  const volume* const v = find(op.vid);
  const bool goes_on = v == nullptr || is_torn(v->r);  // at once, when it is not torn any more
  const bool over = said == verdict::done && !is_unfinished(op.vid);
  if (op.request != 0 || !moves_data(op) || over || goes_on) return;
  plans_.put_off(op.vid,
                 now_ + (op.live && !is_unfinished(op.vid) ? try_later_ns : options_.try_again_ns));
}

std::vector<manager::ssd_plan> manager::plans() const {
  // By how many SSDs volumes are spread over: how many there are, and the first that is written.
  std::vector<std::uint32_t> volumes(options_.ssds + 1);
  std::vector<std::uint16_t> written(options_.ssds + 1);
  for (const auto& [vid, v] : volumes_) {
    const std::uint32_t count = std::min(v.r.ssd_count, options_.ssds);
    if (v.going) continue;
    ++volumes[count];
    const bool is_written = v.writer != 0 && v.lease_until > now_;
    if (written[count] == 0 && is_written && plans_.is_put_off(vid, now_)) written[count] = vid;
  }
  std::vector<ssd_plan> all(options_.ssds);
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    ssd_plan& p = all[k];
    p.aim = plans_.of(k);
    const std::uint32_t place = now_serving_.others.place_of(k);
    const bool released = (present() & bit(k)) == 0 &&
                          (now_serving_.at(place) & present() & now_serving_.in_sync()) != 0;
    for (std::uint32_t count = place; count <= options_.ssds && !released; ++count) {
      const bool on_it = count > place;
      p.volumes += on_it ? volumes[count] : 0;
      const bool left = p.aim == ssd_aim::drain ? on_it : p.aim == ssd_aim::join && !on_it;
      if (!left) continue;
      p.left += volumes[count];
      if (p.waits_for == 0) p.waits_for = written[count];
    }
  }
  return all;
}

/// SSDs that a new volume is spread over: not the last ones that are to be empty, or that are
/// absent and on which none lies, and none behind one that serves elsewhere.
std::uint32_t manager::width() const {
  std::uint32_t count = options_.ssds;
  const std::uint64_t drained = plans_.kept_free() | now_serving_.others.all();
  std::uint32_t used = 0;
  if (now_serving_.absent != 0) {
    for (const auto& [vid, v] : volumes_) used = std::max(used, v.r.ssd_count);
  }
  while (count > 1) {
    const std::uint64_t last = bit(count - 1);
    const bool empty = used < count && (now_serving_.absent & last) != 0 && !volumes_.empty();
    if ((drained & last) == 0 && !empty) break;
    --count;
  }
  // An SSD that serves elsewhere cannot hold what lies at its own place, too.
  return std::min(count, static_cast<std::uint32_t>(std::countr_zero(now_serving_.others.all())));
}

}  // namespace gnstor::daemon

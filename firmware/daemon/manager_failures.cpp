/// What becomes of SSDs that fail, or are in sync again, and of blocks that are mended.

#include <daemon/manager.hpp>

#include <utility>
#include <vector>

namespace gnstor::daemon {

using wire::afa::admin_opcode;

void manager::ssd_failed(std::uint32_t ssd) {
  operation* const under_way = next_operation();
  for (operation& op : queue_) {
    if (op.what != action::replace || op.ssd != ssd || (&op != under_way && op.step == 0)) continue;
    op.gone = true;  // it was to serve, and has failed before
    op.pending = 0;
    if (op.repair != 0) cancel(std::exchange(op.repair, 0));
  }
  if ((now_serving_.absent & bit(ssd)) != 0) return;
  for (const operation& op : queue_) {
    if (op.what == action::fail && op.ssd == ssd) return;
  }
  if (under_way != nullptr) {  // what is under way is asked again, of all that are left
    operation& op = *under_way;
    // Who has not answered may have taken it; another volume of its VID has another hash factor.
    const bool creates = op.what == action::create && op.step == 1 && op.r.hash_factor != 0;
    if (creates && op.sent) op.added |= op.pending;
    op.sent = false;
    op.pending = 0;
    if (op.what == action::replace && op.step != 0 && op.step < replacing::informing) {
      op.step = replacing::telling;  // in the next epoch, which ends what others have heard
      op.fenced_at = 0;
    }
  }
  queue_.push_front({.what = action::fail, .ssd = ssd});
}

bool manager::advance_fail(operation& op) {
  if (op.step == 0) {
    std::uint64_t failed = 0;
    std::uint64_t places = 0;
    std::vector<std::pair<std::uint32_t, ssd_absences::absence>> leave;
    for (operation& other : queue_) {  // together: none of them answers what the others ask
      if (other.what != action::fail || other.step != 0) continue;
      other.step = 1;
      failed |= bit(other.ssd);
      places |= bit(now_serving_.others.place_of(other.ssd));
      out_.detached.push_back(other.ssd);
      absences_.end(other.ssd);
      kept_.erase(other.ssd);
      if (knows_epoch_ && (now_serving_.filling & bit(other.ssd)) == 0)
        leave.push_back({other.ssd, absence_of(other)});
      const auto fill = fills_.find(other.ssd);
      if (fill == fills_.end()) continue;
      cancel(fill->second);
      fills_.erase(fill);
    }
    change_epoch(now_serving_.absent | failed, now_serving_.filling & ~failed);
    end_fills_of(failed);
    for (auto& [vid, op] : unadopted_)  // it has other records when it is back
      if (op.what == action::adopt && !op.drops) op.added &= ~failed;
    absences_.lose(places);
    for (auto& [ssd, a] : leave) begin_absence(ssd, std::move(a));
    // One that was about to serve beside another at its place does not any more.
    std::uint64_t needless = 0;
    for (std::uint32_t k = 0; k < wire::afa::stand_ins::most; ++k) {
      const wire::afa::stand_ins& others = now_serving_.others;
      if (!others.has(k) || (now_serving_.absent & bit(others.ssd(k))) == 0) continue;
      if ((now_serving_.at(others.place(k)) & present()) != 0) needless |= bit(others.ssd(k));
    }
    now_serving_.others = now_serving_.others.without(needless);
    give_up_repairs();
  }
  if (!all_informed_of_epoch(op)) return false;
  publish();
  return true;
}

/// Nothing that has filled some SSDs, by bit, has them in sync any more: they have failed, or
/// leave.
void manager::end_fills_of(std::uint64_t ssds) {
  std::erase_if(queue_, [&](const operation& op) {
    return op.what == action::settle && op.step == 0 && !op.current && (ssds & bit(op.ssd)) != 0;
  });
}

/// Takes those out that have served at the place of an SSD which is in sync from now on; by bit.
std::uint64_t manager::released_by(std::uint32_t ssd) {
  const std::uint32_t place = now_serving_.others.place_of(ssd);
  const std::uint64_t released = now_serving_.at(place) & ~bit(ssd) & present();
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((released & bit(k)) == 0) continue;
    out_.detached.push_back(k);
    kept_.erase(k);
    if (const auto fill = fills_.find(k); fill != fills_.end()) {
      cancel(fill->second);
      fills_.erase(fill);
    }
  }
  end_fills_of(released);
  return released;
}

bool manager::advance_settle(operation& op) {
  if (op.step == 0) {
    const auto fill = fills_.find(op.ssd);
    if (fill == fills_.end()) return true;  // it has failed since
    cancel(fill->second);                   // it may have been ordered again
    fills_.erase(fill);
    kept_.erase(op.ssd);
    op.step = 1;
    const std::uint64_t released = released_by(op.ssd);
    change_epoch(now_serving_.absent | released, now_serving_.filling & ~(bit(op.ssd) | released));
    const std::uint32_t place = now_serving_.others.place_of(op.ssd);
    now_serving_.others =
        now_serving_.others.without(now_serving_.others.of(bit(place)) & ~bit(op.ssd));
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

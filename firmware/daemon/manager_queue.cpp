/// Which of a manager's operations is carried on.

#include <daemon/manager.hpp>

#include <algorithm>
#include <utility>

namespace gnstor::daemon {

/// Carries out one operation after another. An open that waits for its volume's replicas, or what
/// waits for its copy, stands aside meanwhile: what concerns it waits with it, and everything else
/// goes on.
void manager::run() {
  for (operation* op = next_operation(); op != nullptr; op = next_operation()) {
    if (!std::exchange(op->current, true)) ++begun_;
    const bool over = advance(*op);
    if (!over && !stands_aside(*op)) return;
    op->current = false;
    --begun_;
    at_rest_ = at_rest_ && !moves_data(*op);
    const auto is_it = [=](const operation& other) { return &other == op; };
    if (over && op->again && !plans_.is_put_off(op->vid, now_)) unadopted_.erase(op->vid);
    if (over) queue_.erase(std::find_if(queue_.begin(), queue_.end(), is_it));
  }
}

/// The one that has begun and is not over; null: none has. A failure goes before what it met.
manager::operation* manager::current_operation() {
  if (begun_ == 0) return nullptr;
  const auto at =
      std::find_if(queue_.begin(), queue_.end(), [](const operation& op) { return op.current; });
  return at == queue_.end() ? nullptr : &*at;
}

/// The one to be carried on: one that has begun, else the first that no earlier one keeps waiting.
manager::operation* manager::next_operation() {
  if (!queue_.empty() && queue_.front().what == action::fail) return &queue_.front();
  if (operation* const begun = current_operation()) return begun;
  for (auto at = queue_.begin(); at != queue_.end(); ++at) {
    if (stands_aside(*at)) continue;
    const bool waits = std::any_of(
        queue_.begin(), at, [&](const operation& earlier) { return conflict(earlier, *at); });
    if (!waits) return &*at;
  }
  return nullptr;
}

/// True if one may not overtake another, which waits for its volume's replicas, or for such a one.
bool manager::conflict(const operation& earlier, const operation& later) {
  const auto moves_ssds = [](const operation& op) {
    return op.what == action::fail || op.what == action::replace || op.what == action::settle ||
           op.what == action::mend;
  };
  const auto of_all = [](const operation& op) {
    const bool recovers = op.what == action::forget || op.what == action::adopt;
    return moves_data(op) || op.what == action::move_on || (recovers && !op.again);
  };
  const auto of_names = [](const operation& op) {
    return op.what == action::create || op.what == action::rename || op.what == action::remove;
  };
  if (moves_ssds(later)) return moves_ssds(earlier);
  if (moves_data(earlier) && stands_aside(earlier))  // who only reads that volume goes on, too
    return of_all(later) ||
           (later.vid == earlier.vid && (later.what != action::open || later.write) &&
            !(earlier.live && (later.what == action::close || later.what == action::expel)));
  if (of_all(earlier) || of_all(later)) return true;
  if (of_names(earlier) && of_names(later)) return true;
  const bool same_client = earlier.client != 0 && earlier.client == later.client;
  if (earlier.what == action::leave || later.what == action::leave) return same_client;
  return earlier.vid == later.vid && !moves_ssds(earlier);
}

/// True when an operation is over.
bool manager::advance(operation& op) {
  switch (op.what) {
    case action::create: return advance_create(op);
    case action::open: return advance_open(op);
    case action::close:
    case action::expel: return advance_close(op);
    case action::leave: return advance_leave(op);
    case action::remove: return advance_remove(op);
    case action::fail: return advance_fail(op);
    case action::replace: return advance_replace(op);
    case action::settle: return advance_settle(op);
    case action::adopt: return advance_adopt(op);
    case action::spread: return advance_spread(op);
    case action::forget: return advance_forget(op);
    case action::move_on: return moved_on(op);
    case action::rename: return advance_rename(op);
    case action::mend: return advance_mend(op);
    case action::narrow: return advance_narrow(op);
  }
  return true;
}

}  // namespace gnstor::daemon

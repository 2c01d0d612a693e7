/// How a volume is moved while somebody writes it: what was written meanwhile is moved again, and
/// the last of it while nobody may write.

#include <daemon/client_rights.hpp>
#include <daemon/manager.hpp>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace gnstor::daemon {

using wire::afa::volume_chmod;

namespace {

/// Copies after which it is given up, if each is too long for writers to wait for the last one.
constexpr std::uint32_t most_copies = 10;
/// How long nobody may write, at most, until the last of it is moved.
constexpr std::uint64_t most_held_ns = 1'000'000'000;
/// What the last copy before that took, at most: as much may have been written meanwhile.
constexpr std::uint64_t most_round_ns = most_held_ns / 4;
constexpr std::uint32_t for_ever = ~std::uint32_t{0};

std::uint32_t count(const wire::afa::dirty_regions& regions) {
  std::uint32_t n = 0;
  for (const std::uint32_t word : regions.words)
    n += static_cast<std::uint32_t>(std::popcount(word));
  return n;
}

}  // namespace

/// Begins to move a volume that somebody may write. False: nobody may.
bool manager::begins_beside_writer(operation& op) {
  const volume& v = volumes_[op.vid];
  op.live = v.writer != 0 && v.lease_until > now_;
  if (!op.live) return false;
  absences_.forget(op.vid);
  absences_.changes(op.vid);
  return true;
}

/// Copies everything, then what was written meanwhile, in rounds, until that is little; then nobody
/// may write, and it is copied once more. Clients whose writes are refused wait for another epoch.
/// Until the step says that all SSDs may be informed, or that it is given up, there is more to do.
void manager::moves_beside_writer(operation& op, repair_kind kind) {
  const bool is_held = op.step == moving::watching_last || op.step == moving::copying_last;
  if (is_held && (op.held_in != now_serving_.epoch || now_ > op.fenced_at + most_held_ns)) {
    op.put_off = op.held_in == now_serving_.epoch;
    return gives_move_up(op);
  }
  if (!is_held && op.repair == 0 && !op.sent && is_waited_for(op)) {
    op.put_off = true;
    return gives_move_up(op);
  }
  switch (op.step) {
    case moving::watching:
    case moving::watching_last:
      if (op.repair != 0) return;
      // What somebody was about to be answered nobody knows any more.
      if (std::exchange(op.asks, true)) op.rounds = 0;
      op.watched = true;
      order_repair(op, repair_kind::watch);
      out_.repairs.back().urgent = is_held;
      return;
    case moving::copying:
    case moving::copying_last: {
      if (op.repair != 0) return;
      // What was copied before may have been deallocated since.
      op.zeroes = op.zeroes || op.attempts++ != 0;
      order_repair(op, kind);
      if (op.rounds != 0) out_.repairs.back().kept.regions[op.vid] = op.marks;
      out_.repairs.back().live = true;
      out_.repairs.back().urgent = is_held;
      op.round_began = now_;
      return;
    }
    case moving::holding: {
      volume_chmod hold{};
      hold.sets = volume_chmod::sets_hold;
      hold.held_until = for_ever;
      // Some SSD may know from here on, whoever fails or refuses, and some client wait.
      op.held = true;
      volumes_[op.vid].r.held_until = for_ever;
      if (op.fenced_at == 0) op.fenced_at = now_ | 1;
      if (!chmod(op, hold)) return;
      if (op.refusal != 0) return gives_move_up(op);
      op.held_in = now_serving_.epoch;
      op.step = moving::watching_last;
      return moves_beside_writer(op, kind);
    }
    default: return;
  }
}

/// A part of that has been done, or not.
void manager::moved_some(operation& op, bool ok, const regions_by_volume& written) {
  if (!ok) {
    op.step = giving_up;
    return;
  }
  const auto said = written.find(op.vid);
  wire::afa::dirty_regions fresh =
      said == written.end() ? wire::afa::dirty_regions{} : said->second;
  switch (op.step) {
    case moving::watching:
      op.asks = false;
      op.marks = fresh;
      op.step = moving::copying;
      if (op.rounds == 0) break;
      if (count(fresh) == 0 || op.round_took <= most_round_ns) {
        op.step = moving::holding;
      } else if (op.rounds >= most_copies) {
        op.put_off = true;
        op.step = giving_up;
      }
      break;
    case moving::copying:
      op.round_took = now_ - op.round_began;
      ++op.rounds;
      op.step = moving::watching;
      break;
    case moving::watching_last:
      for (std::size_t w = 0; w < std::size(fresh.words); ++w) op.marks.words[w] |= fresh.words[w];
      op.step = count(op.marks) != 0 ? moving::copying_last : copied;
      break;
    default: op.step = copied; break;
  }
}

/// True if writers go on that were held, in an epoch that a failure has begun.
bool manager::hold_is_over(const operation& op) const {
  return op.live && op.step == copied && op.held_in != now_serving_.epoch;
}

/// True of a volume whose move has to be finished, or taken back: some SSD refused half-way.
bool manager::is_unfinished(std::uint16_t vid) const {
  const auto at = volumes_.find(vid);
  return at != volumes_.end() && (is_moving(at->second.r.spread) || is_held(at->second.r));
}

void manager::gives_move_up(operation& op) {
  if (op.repair != 0) cancel(std::exchange(op.repair, 0));
  op.step = giving_up;
}

/// True if somebody wants to rename, extend or delete a volume that moves, and would wait for that.
bool manager::is_waited_for(const operation& move) const {
  return std::any_of(queue_.begin(), queue_.end(), [&](const operation& op) {
    return op.vid == move.vid && (op.what == action::rename || op.what == action::remove);
  });
}

/// Has such a move go no further than that.
void manager::gives_moves_up_for(std::uint16_t vid) {
  for (operation& op : queue_) {
    if (!moves_data(op) || !op.live || op.vid != vid || !stands_aside(op)) continue;
    op.put_off = true;
    gives_move_up(op);
  }
}

/// Goes on with a volume that some SSD may hold for a move that another operation began.
void manager::takes_over_hold(operation& op) {
  const volume& v = volumes_[op.vid];
  op.live = v.writer != 0;  // it writes on
  if (!is_held(v.r)) return;
  op.held = op.watched = true;
  op.fenced_at = now_ | 1;
}

/// Lets clients write a volume again that was held, from the next epoch on: all SSDs know where it
/// lies. Where nobody was kept waiting, marks are only said twice again. False: they have not
/// answered. One that refuses is asked again by the operation that goes on with this one.
bool manager::lets_write(operation& op) {
  if (!op.held && !op.watched) return true;
  volume_chmod free{};
  free.sets = volume_chmod::sets_hold;
  free.held_until = now_serving_.epoch + (op.fenced_at != 0 ? 1 : 0);
  if (!chmod(op, free)) return false;
  op.held = op.watched = false;
  return true;
}

/// The same of one that stays where it was: then there is another epoch. False: it is not over.
bool manager::lets_write_where_it_was(operation& op) {
  if (!lets_write(op)) return false;
  if (op.fenced_at == 0) return true;  // nobody has waited for one
  if (op.step != giving_up + 1) {
    op.step = giving_up + 1;
    change_epoch(now_serving_.absent, now_serving_.filling);
    give_up_repairs();
  }
  if (!all_informed_of_epoch(op)) return false;
  publish();
  op.fenced_at = 0;
  op.step = giving_up;
  return true;
}

}  // namespace gnstor::daemon

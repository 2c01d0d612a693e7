#include "runtime.hpp"

namespace gnstor::simt::host {

meeting& runtime::meeting_of(warp_state& w, collective kind, std::uint32_t mask) {
  for (meeting& m : w.meetings) {
    if (m.mask == mask && m.kind == kind) return m;
  }
  w.meetings.push_back({kind, mask, 0});
  return w.meetings.back();
}

/// Reports a circle of waiting at once: with a polling lane elsewhere the run would never come to
/// rest.
void runtime::check_conflict(const lane_state& l, const meeting* own) {
  const warp_state& w = *l.warp;
  for (const meeting& m : w.meetings) {
    const bool they_need_me = (m.mask >> l.index & 1) != 0;
    const bool i_need_them = own == nullptr || (own->mask & m.arrived) != 0;
    if (&m != own && they_need_me && i_need_them)
      fail("deadlock: lanes of one warp wait for each other");
  }
  if (own != nullptr && (own->mask & w.in_barrier) != 0) {
    fail("deadlock: a lane of the group waits in the block's barrier");
  }
}

/// Lets the lanes of `m` go on if all that live have arrived; `m` is then gone.
bool runtime::complete(warp_state& w, meeting& m) {
  const std::uint32_t lanes = m.mask & w.alive;
  if (m.arrived != lanes) return false;
  const collective kind = m.kind;
  m = w.meetings.back();
  w.meetings.pop_back();
  exchange(w, kind, lanes);
  turns_.progress();
  return true;
}

/// Computes the results of a collective over `lanes`.
void runtime::exchange(warp_state& w, collective kind, std::uint32_t lanes) {
  if (kind == collective::sync) {
    if (weak_) {
      weak_->begin_barrier();
      for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
        weak_->arrive(w.lanes[__builtin_ctz(rest)].id);
      for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
        weak_->leave(w.lanes[__builtin_ctz(rest)].id);
    }
    return;
  }
  std::uint32_t votes = 0;
  if (kind == collective::ballot) {
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const lane_state& l = w.lanes[__builtin_ctz(rest)];
      if (l.value != 0) votes |= 1u << l.index;
    }
  }
  std::uint32_t matched = 0;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    lane_state& l = w.lanes[__builtin_ctz(rest)];
    if (kind == collective::ballot) l.result = votes;
    if (kind == collective::shfl) {
      const auto source = static_cast<std::uint32_t>(l.source) & 31;
      if ((lanes >> source & 1) == 0)
        fail("shfl reads a lane that is not in the group or has exited");
      l.result = w.lanes[source].value;
    }
    if (kind == collective::match_any && (matched >> l.index & 1) == 0) {
      std::uint32_t equal = 0;
      for (std::uint32_t other = rest; other != 0; other &= other - 1) {
        const lane_state& o = w.lanes[__builtin_ctz(other)];
        if (o.value == l.value) equal |= 1u << o.index;
      }
      for (std::uint32_t same = equal; same != 0; same &= same - 1)
        w.lanes[__builtin_ctz(same)].result = equal;
      matched |= equal;
    }
  }
}

/// After a lane has exited: whatever waited for it alone goes on.
void runtime::complete_all(warp_state& w) {
  for (std::size_t k = 0; k < w.meetings.size();) {
    const std::uint32_t lanes = w.meetings[k].mask & w.alive;
    if (!complete(w, w.meetings[k])) {
      ++k;
      continue;
    }
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      lane_state& l = w.lanes[__builtin_ctz(rest)];
      l.waits = wait_kind::none;
      ready(l);
    }
  }
}

std::uint64_t runtime::collective_call(collective kind, std::uint32_t mask, std::uint64_t value,
                                       int source, const char* file, unsigned line) {
  quiet q;
  lane_state& l = *running_;
  warp_state& w = *l.warp;
  count_step();
  wait(l, waits_in(kind), file, line);
  l.value = value;
  l.source = source;
  if ((mask >> l.index & 1) == 0) fail("a lane calls a collective of a group it is not in");
  // ThreadSanitizer's edge of a sync hangs on the group's first lane, so that disjoint groups stay
  // unordered.
  const void* edge = &w.lanes[__builtin_ctz(mask)];
  if (kind == collective::sync) tsan_release(edge);
  meeting& m = meeting_of(w, kind, mask);
  m.arrived |= 1u << l.index;
  const std::uint32_t others = (mask & w.alive) & ~(1u << l.index);
  if (complete(w, m)) {
    for (std::uint32_t rest = others; rest != 0; rest &= rest - 1) {
      lane_state& o = w.lanes[__builtin_ctz(rest)];
      o.waits = wait_kind::none;
      ready(o);
    }
    l.waits = wait_kind::none;
    if (seeded_) turn_over(l);
  } else {
    check_conflict(l, &m);
    yield(l);
  }
  if (kind == collective::sync) tsan_acquire(edge);
  return l.result;
}

std::uint32_t runtime::coalesce(const char* file, unsigned line) {
  quiet q;
  lane_state& l = *running_;
  count_step();
  wait(l, wait_kind::coalesce, file, line);
  seeded_ ? draws_.park(l) : turns_.park(l);
  yield(l);
  return static_cast<std::uint32_t>(l.result);
}

void runtime::release_barrier(block_state& b) {
  b.waiting = 0;
  turns_.progress();
  if (weak_) weak_->begin_barrier();
  for (int leaving = 0; leaving < 2; ++leaving) {
    for (auto& w : b.warps) {
      for (std::uint32_t rest = w->in_barrier; rest != 0; rest &= rest - 1) {
        lane_state& l = w->lanes[__builtin_ctz(rest)];
        if (weak_ && leaving == 0) weak_->arrive(l.id);
        if (leaving == 0) continue;
        if (weak_) weak_->leave(l.id);
        l.waits = wait_kind::none;
        ready(l);
      }
      if (leaving == 1) w->in_barrier = 0;
    }
  }
}

void runtime::block_sync(const char* file, unsigned line) {
  quiet q;
  lane_state& l = *running_;
  block_state& b = *l.warp->block;
  count_step();
  wait(l, wait_kind::block_sync, file, line);
  check_conflict(l, nullptr);
  tsan_release(&b);
  l.warp->in_barrier |= 1u << l.index;
  if (++b.waiting == b.alive) release_barrier(b);
  yield(l);
  tsan_acquire(&b);
}

}  // namespace gnstor::simt::host

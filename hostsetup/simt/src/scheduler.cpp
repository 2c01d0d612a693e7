#include "scheduler.hpp"

#include <sched.h>

#include <ctime>

namespace gnstor::simt::host {

void turn_scheduler::clear() {
  now_ = {};
  next_ = {};
  parked_.clear();
}

void turn_scheduler::end_pass() {
  while (!parked_.empty()) {
    warp_state& w = *parked_.back();
    release_group(w, same_site(w.lanes[__builtin_ctz(w.parked)]),
                  [this](lane_state& l) { ready(l); });
  }
  if (next_.first != nullptr) {
    idle();
    (now_.first == nullptr ? now_.first : now_.last->next) = next_.first;
    now_.last = next_.last;
    next_ = {};
  }
}

/// Gives the processor away now and then while lanes only poll: what they wait for may be a real
/// thread's work.
void turn_scheduler::idle() {
  constexpr std::uint32_t yield_every = 32;
  constexpr std::uint32_t sleep_after = 1u << 16;
  constexpr long sleep_ns = 20'000;
  idle_passes_ = progress_ ? 0 : idle_passes_ + 1;
  progress_ = false;
  if (++passes_ % 1024 == 0 || (idle_passes_ != 0 && idle_passes_ % yield_every == 0)) {
    if (idle_passes_ > sleep_after) {
      const timespec nap{0, sleep_ns};
      nanosleep(&nap, nullptr);
    } else {
      sched_yield();
    }
  }
}

void seeded_scheduler::clear() {
  ready_.clear();
  parked_.clear();
}

lane_state* seeded_scheduler::take(std::uint32_t slot) {
  lane_state* l = ready_[slot];
  ready_[slot] = ready_.back();
  ready_.pop_back();
  return l;
}

lane_state* seeded_scheduler::pick() {
  constexpr std::uint32_t slow_runs_one_in = 16;
  constexpr std::uint32_t redraws = 4;
  constexpr std::uint32_t early_group_one_in = 64;
  std::uint32_t draws = 0;
  for (;;) {
    const auto lanes = static_cast<std::uint32_t>(ready_.size());
    const auto warps = static_cast<std::uint32_t>(parked_.size());
    if (lanes + warps == 0) return nullptr;
    const std::uint32_t k = random_.below(lanes + warps);
    if (k >= lanes) {
      // A large group forms when its lanes have had time to arrive.
      const bool patient = strategy_.groups == strategy::grouping::largest && lanes != 0;
      if (patient && random_.below(early_group_one_in) != 0) continue;
      form_group(*parked_[k - lanes]);
      continue;
    }
    if (ready_[k]->slow && draws++ < redraws && random_.below(slow_runs_one_in) != 0) continue;
    return take(k);
  }
}

/// Any non-empty subset of the lanes of a warp that wait at one call site is a legal group.
void seeded_scheduler::form_group(warp_state& w) {
  std::uint32_t skip = random_.below(static_cast<std::uint32_t>(__builtin_popcount(w.parked)));
  std::uint32_t rest = w.parked;
  for (; skip != 0; --skip) rest &= rest - 1;
  const std::uint32_t lead = rest & (0u - rest);
  std::uint32_t members = same_site(w.lanes[__builtin_ctz(lead)]);
  if (strategy_.groups == strategy::grouping::alone) members = lead;
  if (strategy_.groups == strategy::grouping::subset) {
    members = (members & static_cast<std::uint32_t>(random_.next())) | lead;
  }
  release_group(w, members, [this](lane_state& l) { ready(l); });
}

}  // namespace gnstor::simt::host

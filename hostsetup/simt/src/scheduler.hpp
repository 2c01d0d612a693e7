#pragma once

#include "lane_state.hpp"
#include "strategy.hpp"

namespace gnstor::simt::host {

/// The warps with lanes that wait at a call site to be put into a group.
class parking {
 public:
  /// `l` waits until a group forms with it; the group's mask becomes its result.
  void park(lane_state& l) {
    warp_state& w = *l.warp;
    if (w.parked == 0) {
      w.parked_slot = parked_.size();
      parked_.push_back(&w);
    }
    w.parked |= 1u << l.index;
  }

 protected:
  /// Makes the lanes of `members`, parked lanes of `w`, one group, and hands each to `ready`.
  template <class Ready>
  void release_group(warp_state& w, std::uint32_t members, Ready ready) {
    w.parked &= ~members;
    if (w.parked == 0) {
      parked_[w.parked_slot] = parked_.back();
      parked_[w.parked_slot]->parked_slot = w.parked_slot;
      parked_.pop_back();
    }
    for (std::uint32_t rest = members; rest != 0; rest &= rest - 1) {
      lane_state& l = w.lanes[__builtin_ctz(rest)];
      l.waits = wait_kind::none;
      l.result = members;
      ready(l);
    }
  }
  /// The parked lanes of `lead`'s warp that wait at its call site.
  static std::uint32_t same_site(const lane_state& lead) {
    const warp_state& w = *lead.warp;
    std::uint32_t lanes = 0;
    for (std::uint32_t rest = w.parked; rest != 0; rest &= rest - 1) {
      const lane_state& l = w.lanes[__builtin_ctz(rest)];
      if (l.line == lead.line && l.file == lead.file) lanes |= 1u << l.index;
    }
    return lanes;
  }

  std::vector<warp_state*> parked_;
};

/// Fast mode: lane after lane in turn; the largest groups form when a pass over all lanes is over.
/// The running lane is in none of its lists.
class turn_scheduler : public parking {
 public:
  /// `l` can run.
  void ready(lane_state& l) { now_.push(l); }
  /// `l` can run, but has had its turn.
  void later(lane_state& l) { next_.push(l); }
  /// The next lane, or null when no lane can run.
  lane_state* pick() {
    if (lane_state* l = now_.pop()) return l;
    end_pass();
    return now_.pop();
  }
  void clear();
  /// Some lane did more than poll.
  void progress() { progress_ = true; }

 private:
  struct queue {
    lane_state* first = nullptr;
    lane_state* last = nullptr;
    void push(lane_state& l) {
      l.next = nullptr;
      (first == nullptr ? first : last->next) = &l;
      last = &l;
    }
    lane_state* pop() {
      lane_state* l = first;
      if (l != nullptr) first = l->next;
      return l;
    }
  };
  void end_pass();
  void idle();

  queue now_;
  queue next_;
  bool progress_ = false;
  std::uint32_t idle_passes_ = 0;
  std::uint32_t passes_ = 0;
};

/// The seeded modes: every choice comes from the seed. The running lane is in none of its lists.
class seeded_scheduler : public parking {
 public:
  seeded_scheduler(random& from, const strategy& how) : random_(from), strategy_(how) {}
  void ready(lane_state& l) { ready_.push_back(&l); }
  lane_state* pick();
  void clear();

 private:
  void form_group(warp_state& w);
  lane_state* take(std::uint32_t slot);

  random& random_;
  const strategy& strategy_;
  std::vector<lane_state*> ready_;
};

}  // namespace gnstor::simt::host

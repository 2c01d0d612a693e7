#pragma once

#include <gnstor/channel/channel_layout.hpp>
#include <gnstor/channel/response_status.hpp>
#include <gnstor/qp/completion.hpp>
#include <gnstor/simt/group.hpp>

namespace gnstor::detail {

GNSTOR_HD inline std::uint32_t bits(std::uint32_t mask) {
  return static_cast<std::uint32_t>(cuda::std::popcount(mask));
}

/// Of `exclusive_channel::execute_each`: no slot is taken but by requests that lanes wait for.
struct no_room {
  GNSTOR_HD constexpr bool operator()(const simt::group&) const { return false; }
};

/// The request slots of a channel that one warp has to itself: the memory of a `request_table`,
/// used by plain loads and stores that the warp's `sync` orders.
///
/// All calls are those of lanes of the owning group; calls with a group are the whole group's,
/// converged.
class exclusive_slots {
 public:
  using answer = request_table<thread_scope_device>::answer;
  static constexpr std::uint32_t nowhere = ~0u;

  GNSTOR_HD exclusive_slots(channel_state* state, std::uint32_t depth)
      : state_(state), slots_(channel_layout::slots_of(*state)), depth_(depth) {}

  GNSTOR_HD std::uint32_t position(command_id id) const { return id.value & (depth_ - 1); }
  GNSTOR_HD command_id id_of(std::uint64_t generation, std::uint32_t at) const {
    return command_id(static_cast<std::uint16_t>(generation * depth_ + at));
  }
  GNSTOR_HD std::uint64_t generation(std::uint32_t at) const { return slots_[at].phase >> 8; }
  GNSTOR_HD std::uint64_t index(std::uint32_t at) const {
    return request_position::unpack(slots_[at].index).index;
  }

  /// Finds a free slot for each lane that wants one, or nowhere: the n-th of them takes the n-th
  /// that is free. It is taken from now on, but has no request.
  GNSTOR_HD std::uint32_t claim(const simt::group& g, bool wants) const {
    std::uint32_t mine = nowhere;
    g.sync();  // slots that other lanes freed
    for (std::uint32_t row = 0; row < depth_; row += g.size()) {
      const bool asks = wants && mine == nowhere;
      const std::uint32_t asking = g.ballot(asks);
      if (asking == 0) break;
      const std::uint32_t at = row + g.thread_rank();
      const std::uint32_t open =
          g.ballot(at < depth_ && phase_of(slots_[at].phase) == request_phase::free);
      g.sync();  // all have looked before one of them claims
      const std::uint32_t turn = before(g, asking);
      if (!asks || turn >= bits(open)) continue;
      mine = row + nth_bit(open, turn);
      set(mine, generation(mine), request_phase::done);
    }
    return mine;
  }
  GNSTOR_HD void free(std::uint32_t at, std::uint64_t generation) const {
    set(at, generation, request_phase::free);
  }
  /// The slot's request is answered, or there is none: nobody else may have the slot.
  GNSTOR_HD void keep(std::uint32_t at, std::uint64_t generation) const {
    set(at, generation, request_phase::done);
  }
  /// The slot's request is under way.
  GNSTOR_HD void expect(std::uint32_t at, std::uint64_t generation, std::uint64_t index) const {
    slots_[at].index = index;
    set(at, generation, request_phase::pending);
  }

  /// The slot's word, as `request_slot::phase` has it, and as it was when its request was sent.
  GNSTOR_HD std::uint64_t word(std::uint32_t at) const { return slots_[at].phase; }
  GNSTOR_HD static std::uint64_t sent(std::uint64_t word) {
    return (word & ~std::uint64_t{0xff}) | static_cast<std::uint64_t>(request_phase::pending);
  }
  GNSTOR_HD static request_phase phase_of(std::uint64_t word) {
    return static_cast<request_phase>(word & 0xff);
  }

  /// True if the slot's request is answered; how it ended.
  GNSTOR_HD bool take(std::uint32_t at, status& outcome, std::uint32_t& value) const {
    if (phase_of(slots_[at].phase) != request_phase::done) return false;
    outcome = status::unpack(slots_[at].outcome);
    value = static_cast<std::uint32_t>(slots_[at].value);
    return true;
  }
  /// Writes the outcome that a lane's completion tells of to the slot of request `id`. Of an answer
  /// and its duplicate, taken at the same time, one is delivered.
  /// @param names the completion names a request
  /// @par Callers every lane of `g`, converged
  GNSTOR_HD answer settle(const simt::group& g, command_id id, bool names,
                          const completion& c) const {
    const std::uint32_t nobody = 0x10000 + g.thread_rank();
    const bool first = g.partition(names ? id.value : nobody).leads();
    const std::uint64_t seen = names ? slots_[position(id)].phase : 0;
    g.sync();  // all have looked before one answers: a late duplicate may name the same slot
    return names && first ? settle(id, seen, c) : answer::unknown;
  }
  /// Counts what was not delivered, and notes whose slot is free.
  /// @param met what the lane's completion met, if it `names` a request
  GNSTOR_HD void count_others(const simt::group& g, command_id id, answer met, bool names,
                              bool broken) const {
    const std::uint32_t late = g.ballot(met == answer::late);
    const std::uint32_t unknown = g.ballot(names && met == answer::unknown);
    const std::uint32_t breaks = g.ballot(broken);
    if (g.leads()) {
      state_->late += bits(late);
      state_->unknown += bits(unknown);
      state_->broken += bits(breaks);
    }
    note(g, late, position(id), false);
  }

  /// Lanes that leave give up the pending request at `at`: it keeps its slot until the late answer,
  /// also for who takes the channel over.
  GNSTOR_HD void abandon(const simt::group& g, std::uint32_t at, bool leaves) const {
    if (leaves) set(at, generation(at), request_phase::abandoned);
    note(g, g.ballot(leaves), at, true);
  }
  /// Notes for shared use, for the lanes of `mask`, that slot `at` is kept by a request given up,
  /// or free.
  GNSTOR_HD void note(const simt::group& g, std::uint32_t mask, std::uint32_t at,
                      bool taken) const {
    auto* bitmap = reinterpret_cast<std::uint32_t*>(slots_ + depth_);
    std::uint32_t& given_up = bitmap[2 * slot_bitmap<thread_scope_device>::bytes(depth_) / 4];
    if (g.leads() && mask != 0) given_up += taken ? bits(mask) : 0 - bits(mask);
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const std::uint32_t k = g.shfl(at, cuda::std::countr_zero(left));
      if (!g.leads()) continue;
      bitmap[k / 32] = taken ? bitmap[k / 32] | 1u << k % 32 : bitmap[k / 32] & ~(1u << k % 32);
    }
  }

  /// The lanes of `mask` that rank before this one.
  GNSTOR_HD static std::uint32_t before(const simt::group& g, std::uint32_t mask) {
    return bits(mask & ((1u << g.thread_rank()) - 1));
  }

 private:
  /// @param seen the slot's word, looked at before any lane answered
  GNSTOR_HD answer settle(command_id id, std::uint64_t seen, const completion& c) const {
    const std::uint32_t at = position(id);
    if (id_of(seen >> 8, at).value != id.value) return answer::unknown;
    if (phase_of(seen) == request_phase::abandoned) {
      free(at, seen >> 8);
      return answer::late;
    }
    if (phase_of(seen) != request_phase::pending) return answer::unknown;
    const wire::nvme::completion_entry& e = c.response;
    const status outcome = c.kind == completion_kind::failed ? c.outcome : response_status(e);
    slots_[at].outcome = outcome.pack();
    slots_[at].value = e.dw0 | std::uint64_t{e.dw1} << 32;
    keep(at, seen >> 8);
    return answer::delivered;
  }

  GNSTOR_HD void set(std::uint32_t at, std::uint64_t generation, request_phase to) const {
    slots_[at].phase = generation << 8 | static_cast<std::uint64_t>(to);
  }
  /// The position of the `n`-th bit, from 0, that is set in `mask`.
  GNSTOR_HD static std::uint32_t nth_bit(std::uint32_t mask, std::uint32_t n) {
    if ((mask & (mask + 1)) == 0) return n;
    for (std::uint32_t k = 0; k < n; ++k) mask &= mask - 1;
    return static_cast<std::uint32_t>(cuda::std::countr_zero(mask));
  }

  channel_state* state_;
  request_slot* slots_;
  std::uint32_t depth_;
};

}  // namespace gnstor::detail

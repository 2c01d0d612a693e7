#pragma once

#include <gnstor/channel/channel_refusal.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/group.hpp>

namespace gnstor::detail {

/// The phase of a channel that one warp has to itself: in registers, the same in every lane.
class exclusive_phase {
 public:
  GNSTOR_HD_INLINE explicit exclusive_phase(channel_state& state)
      : state_(&state), phase_(phase_in(device_word<std::uint32_t>(state.phase).load(relaxed))) {}

  GNSTOR_HD_INLINE channel_phase now() const { return phase_; }
  GNSTOR_HD_INLINE bool ready() const { return phase_ == channel_phase::ready; }
  GNSTOR_HD_INLINE bool dead() const { return phase_ == channel_phase::error; }

  /// How a request ends that was in flight when the queue pair died.
  GNSTOR_HD_INLINE status broken() const { return killed_by(state_->first_error); }
  /// Why a request that was sent is given up.
  GNSTOR_HD_INLINE status gave_up() const {
    return dead() ? broken() : status::make(status_code::timed_out, reporter::channel);
  }
  /// Why a request is not sent.
  GNSTOR_HD_INLINE status refusal() const { return detail::refusal(phase_, state_->first_error); }
  /// The queue pair is dead.
  /// @par Callers every lane of `g`, converged
  GNSTOR_HD_INLINE void fail(const simt::group& g, std::uint64_t why) {
    if (!ready() && phase_ != channel_phase::connecting) return;
    phase_ = channel_phase::error;
    if (!g.leads()) return;
    state_->first_error = why;
    state_->phase =
        resets_in(state_->phase) << 8 | static_cast<std::uint32_t>(channel_phase::error);
  }

 private:
  channel_state* state_;
  channel_phase phase_;
};

}  // namespace gnstor::detail

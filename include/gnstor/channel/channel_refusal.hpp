#pragma once
/// What a channel that is not ready says to those who use it: of shared channels and owned ones.

#include <gnstor/channel/channel_state.hpp>
#include <gnstor/core/status.hpp>

namespace gnstor::detail {

/// How requests end that the failure of another one killed.
/// @param first_error the channel's word of that name
GNSTOR_HD constexpr status killed_by(std::uint64_t first_error) {
  status s = status::unpack(first_error);
  s.code = status_code::flushed;
  return s;
}

/// Why a channel in `phase` sends nothing. Nothing of the request is left behind.
GNSTOR_HD constexpr status refusal(channel_phase phase, std::uint64_t first_error) {
  if (phase == channel_phase::error) {
    status s = killed_by(first_error);
    s.by = reporter::channel;
    return s;
  }
  const bool closed = phase == channel_phase::closed;
  return status::make(closed ? status_code::closed : status_code::not_ready, reporter::channel);
}

}  // namespace gnstor::detail

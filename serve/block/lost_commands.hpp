#pragma once

#include <gnstor/channel/remote_channel.hpp>

#include <cstdint>

namespace gnstor::serve {

/// Commands of a channel that were given up, and may be answered still.
inline std::uint32_t lost_commands(const remote_channel& channel) {
  channel_state& s = channel.counters();
  const std::uint64_t late = device_word<std::uint64_t>(s.late).load(relaxed);
  const std::uint64_t given_up = device_word<std::uint64_t>(s.timed_out).load(relaxed);
  return given_up > late ? static_cast<std::uint32_t>(given_up - late) : 0;
}

}  // namespace gnstor::serve

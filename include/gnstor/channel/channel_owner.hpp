#pragma once
/// Which warp an exclusive channel belongs to, in debug builds.

#include <gnstor/channel/channel_state.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/simt/warp_number.hpp>

namespace gnstor::detail {

/// True if this warp is the first to use the channel, or has used it before.
GNSTOR_HD inline bool is_owner(const simt::group& g, channel_state& state) {
  if (!g.leads()) return true;
  const std::uint32_t me = simt::warp_number() + 1;
  std::uint32_t owner = 0;
  return device_word<std::uint32_t>(state.owner).compare_exchange(owner, me, relaxed) ||
         owner == me;
}

/// Nobody owns the channel any more.
/// @par Callers one lane
/// @par Order releases what its group wrote before `sync`
GNSTOR_HD inline void disown(channel_state& state) {
  device_word<std::uint32_t>(state.owner).store(0, release);
}

}  // namespace gnstor::detail

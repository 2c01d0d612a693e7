#pragma once

#include <gnstor/channel/channel.hpp>

namespace gnstor::test {

/// One lane connects `count` channels; the others wait for it. False if one was refused.
template <class Channel>
GNSTOR_HD bool connect_all(const Channel* channels, std::uint32_t count, bool mine) {
  bool accepted = true;
  for (std::uint32_t k = 0; k < count; ++k) {
    if (mine && !channels[k].connect(connect_options{}, deadline::never()).ok()) accepted = false;
    for (until ready{deadline::never()}; ready && !mine;) {
      if (channels[k].phase() != channel_phase::connecting) break;
    }
  }
  return accepted;
}

}  // namespace gnstor::test

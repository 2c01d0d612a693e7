#pragma once

#include "array_link.hpp"
#include <gnstor/channel/remote_channel.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::host {

/// Channels to connect, and a word for what became of each.
struct channel_outcomes {
  const remote_channel* channels = nullptr;
  std::uint32_t count = 0;
  std::uint64_t* outcome = nullptr;  ///< `status::pack()` a channel
};

/// A kernel that takes over channels from the host: posts their receives and sends Fabrics Connect,
/// one lane per channel.
struct connect_channels {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, channel_outcomes to, connect_options options,
                            std::uint64_t timeout_ns) const {
    for (std::uint32_t k = lane.global_thread(); k < to.count; k += lane.grid_threads()) {
      connect_options mine = options;
      mine.queue_id = static_cast<std::uint16_t>(options.queue_id + k);
      to.outcome[k] = to.channels[k].connect(mine, simt::within(timeout_ns)).pack();
    }
  }
};

/// Runs `connect_channels` on GPU `device`, beside what `link` needs. Throws `error` in a build
/// without CUDA.
void connect_on_gpu(const channel_outcomes& to, const connect_options& options,
                    std::uint64_t timeout_ns, int device, array_link& link);

}  // namespace gnstor::host

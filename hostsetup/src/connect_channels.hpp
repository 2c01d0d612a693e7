#pragma once

#include <gnstor/channel/mlx5_channel.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::host {

/// A kernel that takes over channels from the host: posts their receives and sends Fabrics Connect,
/// a lane a channel.
struct connect_channels {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, const mlx5_channel* channels, std::uint32_t count,
                            connect_options options, std::uint64_t timeout_ns,
                            std::uint64_t* outcome) const {
    for (std::uint32_t k = lane.global_thread(); k < count; k += lane.grid_threads()) {
      connect_options mine = options;
      mine.queue_id = static_cast<std::uint16_t>(options.queue_id + k);
      outcome[k] = channels[k].connect(mine, simt::within(timeout_ns)).pack();
    }
  }
};

/// Runs `connect_channels` on a GPU. Built with CUDA only.
void connect_on_gpu(const mlx5_channel* channels, std::uint32_t count,
                    const connect_options& options, std::uint64_t timeout_ns,
                    std::uint64_t* outcome, int device);

}  // namespace gnstor::host

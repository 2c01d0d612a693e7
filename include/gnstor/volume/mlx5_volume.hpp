#pragma once

#include <gnstor/channel/mlx5_channel.hpp>
#include <gnstor/volume/volume_ref.hpp>

namespace gnstor::inline v0 {

/// A volume reached by mlx5 channels.
using mlx5_volume = volume_ref<mlx5_channel, rendezvous_placement>;

}  // namespace gnstor::inline v0

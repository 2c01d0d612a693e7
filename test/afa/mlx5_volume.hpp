#pragma once

#include <gnstor/channel/mlx5_channel.hpp>
#include <gnstor/volume/volume_ref.hpp>

namespace gnstor::test {

/// A volume over channels whose queue pairs are the emulated NIC's own.
using mlx5_volume = volume_ref<mlx5_channel, rendezvous_placement>;

}  // namespace gnstor::test

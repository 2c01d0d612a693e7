#pragma once

#include <gnstor/channel/remote_channel.hpp>
#include <gnstor/volume/volume_ref.hpp>

namespace gnstor::inline v0 {

/// A volume of a session, whatever its endpoint: what `host::session::ref` gives to kernels.
using remote_volume = volume_ref<remote_channel, rendezvous_placement>;

}  // namespace gnstor::inline v0

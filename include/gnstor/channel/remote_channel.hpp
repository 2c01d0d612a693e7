#pragma once

#include <gnstor/channel/channel.hpp>
#include <gnstor/qp/any_queue_pair.hpp>

namespace gnstor::inline v0 {

/// A channel of a session, whatever its endpoint: what `host::session` hands to kernels.
using remote_channel = channel<any_queue_pair>;

}  // namespace gnstor::inline v0

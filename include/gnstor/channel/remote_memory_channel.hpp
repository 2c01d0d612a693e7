#pragma once

#include <gnstor/channel/memory_channel.hpp>
#include <gnstor/qp/transfer_queue_pair.hpp>

namespace gnstor::inline v0 {

/// A channel to remote memory, whatever its endpoint: what `host::remote_memory` hands to kernels.
using remote_memory_channel = memory_channel<transfer_queue_pair>;

static_assert(std::is_trivially_copyable_v<remote_memory_channel> &&
              sizeof(remote_memory_channel) == 48);

}  // namespace gnstor::inline v0

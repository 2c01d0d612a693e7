#pragma once

#include <gnstor/channel/channel.hpp>
#include <gnstor/qp/any_queue_pair.hpp>

namespace gnstor::inline v0 {

/// A channel of a session, whatever its endpoint: what `host::session` hands to kernels.
using remote_channel = channel<any_queue_pair>;

static_assert(mlx5_queue_layout::of(128, nic_queue_pair::blocks).bytes +
                      remote_channel::bytes(128, false) <=
                  45'000,
              "queues and request table of a channel of the usual depth; asynchronous operations "
              "take 136 bytes more per request");
static_assert(remote_channel::bytes(128) - remote_channel::bytes(128, false) <= 136 * 128 + 64);

}  // namespace gnstor::inline v0

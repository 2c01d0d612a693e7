#pragma once

#include <gnstor/channel/remote_channel.hpp>
#include <gnstor/host/memory_block.hpp>

#include <cstdint>
#include <vector>

namespace gnstor::host {

/// Memory of one or more channels of the same kind: queues, request tables, channel objects,
/// connect data, and one word per channel for the outcome of connecting.
struct channel_memory {
  memory_block block;
  memory_block relay;              ///< where a proxy relays to an emulated NIC: that NIC's queues
  std::uint64_t connect_data = 0;  ///< address
  std::uint64_t outcome = 0;       ///< address of one word per channel
  remote_channel* channels = nullptr;
  std::vector<std::uint32_t> queues;  ///< of their queue pairs at the emulated NIC
  std::uint32_t count = 0;
  std::uint32_t depth = 0;
  bool asynchronous = false;  ///< `session_options::asynchronous`
  std::uint32_t key = 0;
};

}  // namespace gnstor::host

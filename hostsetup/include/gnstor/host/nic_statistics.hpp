#pragma once

#include <gnstor/host/nic_queue_statistics.hpp>

#include <cstdint>
#include <vector>

namespace gnstor::host {

/// What a port of a NIC has counted. Those of the generator and of the sink are an emulated NIC's.
struct nic_statistics {
  std::uint64_t made = 0;        ///< frames that the generator has made
  std::uint64_t lost = 0;        ///< of these, by the wire
  std::uint64_t runts = 0;       ///< dropped by the MAC
  std::uint64_t oversize = 0;    ///< likewise
  std::uint64_t missed = 0;      ///< for want of a descriptor
  std::uint64_t delivered = 0;   ///< written to the receive ring
  std::uint64_t damaged = 0;     ///< of these, with a check sequence error
  std::uint64_t miscounted = 0;  ///< of these, with a wrong checksum
  std::uint64_t given = 0;       ///< the other ones: what may come out again, duplicates included
  std::uint64_t came_out = 0;    ///< of these, what some port has sent
  std::uint64_t sent = 0;        ///< frames that this port has sent, whatever they were
  std::uint64_t refused = 0;     ///< frames to send that are none, or that the wire did not take
  std::vector<nic_queue_statistics> queues;  ///< of an emulated NIC: of each ring pair
};

}  // namespace gnstor::host

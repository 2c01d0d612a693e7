#pragma once

#include "courier.hpp"
#include "node_fixture.hpp"
#include <gnstor/simt_host/executor.hpp>

namespace gnstor::test {

/// How a command ends that one lane sends by channel 0 of a node that runs meanwhile.
/// @param lanes of each engine of the node
/// @param channel another one than channel 0
inline status one_command(node_fixture& f, const wire::nvme::submission_entry& e,
                          std::uint32_t lanes, std::uint32_t channel = 0) {
  courier_request request{e};
  *f.node.stop = 0;
  simt::host::executor machine;
  machine.spawn(1, 1, courier{f.channels + channel, &request, 1});
  machine.serve_in(simt::domain::nic, f.node.shape.roles(), lanes, *f.node.stop,
                   fw::service{f.node});
  machine.run();
  return request.outcome;
}

}  // namespace gnstor::test

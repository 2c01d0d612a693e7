#pragma once

#include "fake_machine.hpp"
#include <mlx5/connected_queue.hpp>

#include <memory>

namespace gnstor::test {

/// A NIC of the fake machine, a block of queues in a fake GPU, and one queue joined to a target.
struct rig {
  static constexpr std::uint32_t depth = 8;
  static constexpr std::uint32_t queues = 2;
  static constexpr std::uint32_t index = 1;  ///< which of them is joined

  static gnstor::host::verbs::net_address peer() { return {"127.0.0.1", 4420}; }

  rig() : rig(fake_gpu()) {}
  explicit rig(std::shared_ptr<gnstor::host::mlx5::memory_home> home, bool scatter = false)
      : domain(gnstor::host::verbs::device::towards(peer(), std::chrono::milliseconds(1000))),
        nic(std::make_shared<const gnstor::host::mlx5::nic>(domain, home)),
        block(std::make_shared<const gnstor::host::mlx5::queue_block>(nic, depth, queues)),
        queue(std::make_unique<gnstor::host::mlx5::connected_queue>(
            block, index, peer(),
            gnstor::host::mlx5::fabric_queue{
                .queue_id = 3, .controller_id = 9, .reads = 255, .scatter = scatter},
            std::chrono::milliseconds(1000))) {}

  gnstor::host::verbs::protection_domain domain;
  std::shared_ptr<const gnstor::host::mlx5::nic> nic;
  std::shared_ptr<const gnstor::host::mlx5::queue_block> block;
  std::unique_ptr<gnstor::host::mlx5::connected_queue> queue;
};

}  // namespace gnstor::test

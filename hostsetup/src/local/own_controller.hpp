#pragma once

#include "queue_owner.hpp"
#include <gnstor/pcie/nvme_controller.hpp>

#include <numeric>

namespace gnstor::host {

/// A controller that this process drives itself, all of it.
class own_controller final : public queue_owner {
 public:
  /// Resets and identifies. Throws `error` that says what the controller does not do.
  own_controller(pcie::pcie_device& device, const pcie::nvme_controller::options& o)
      : controller_(device, o), queues_(controller_.io_queues()) {
    std::iota(queues_.begin(), queues_.end(), std::uint16_t{1});
  }

  pcie::nvme_controller& controller() { return controller_; }

  const std::vector<std::uint16_t>& queues() const override { return queues_; }
  std::uint32_t max_queue_entries() const override { return controller_.max_queue_entries(); }
  std::uint32_t max_transfer_bytes() const override { return controller_.max_transfer_bytes(); }
  std::vector<std::uint32_t> namespaces() override { return controller_.namespaces(); }
  wire::nvme::identify_namespace identify_namespace(std::uint32_t nsid) override {
    return controller_.identify_namespace(nsid);
  }
  void create_queues(std::uint16_t queue, std::uint32_t entries, std::uint64_t submissions,
                     std::uint64_t completions, wire::nvme::queue_class priority) override {
    controller_.create_queues(queue, entries, submissions, completions, priority);
  }
  void delete_queues(std::uint16_t queue) override { controller_.delete_queues(queue); }
  status execute(const wire::nvme::submission_entry& command, deadline d) override {
    return controller_.execute(command, d);
  }

 private:
  pcie::nvme_controller controller_;
  std::vector<std::uint16_t> queues_;
};

}  // namespace gnstor::host

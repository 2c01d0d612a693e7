#pragma once

#include <gnstor/core/deadline.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/wire/nvme/arbitration.hpp>
#include <gnstor/wire/nvme/identify_namespace.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <cstdint>
#include <vector>

namespace gnstor::host {

/// Who has an NVMe controller and makes I/O queues of it for a session: this process, or a daemon.
/// One thread at a time. Its end deletes what it has made: nothing that the queues know is touched
/// afterwards.
class queue_owner {
 public:
  virtual ~queue_owner() = default;

  /// The ids of the queues that the session may have.
  virtual const std::vector<std::uint16_t>& queues() const = 0;
  virtual std::uint32_t max_queue_entries() const = 0;
  /// The largest transfer of a command.
  virtual std::uint32_t max_transfer_bytes() const = 0;
  virtual std::vector<std::uint32_t> namespaces() = 0;
  virtual wire::nvme::identify_namespace identify_namespace(std::uint32_t nsid) = 0;

  /// Creates a queue pair in zero-filled memory at these DMA addresses, and deletes it. They throw
  /// `error` with what the controller said.
  virtual void create_queues(std::uint16_t queue, std::uint32_t entries, std::uint64_t submissions,
                             std::uint64_t completions, wire::nvme::queue_class priority) = 0;
  virtual void delete_queues(std::uint16_t queue) = 0;
  /// Sends an admin command without data.
  virtual status execute(const wire::nvme::submission_entry& command, deadline d) = 0;
};

}  // namespace gnstor::host

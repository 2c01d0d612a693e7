#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/wire/fabrics/connection_request.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <verbs/connection.hpp>
#include <verbs/memory_region.hpp>

#include <optional>

namespace gnstor::interop {

/// A queue of capsules to a target, without the rules: whatever bytes are given are sent.
class raw_queue {
 public:
  static constexpr std::uint32_t slots = 32;
  static constexpr std::uint32_t slot_bytes = 16384;

  /// Joins a queue pair. Throws `verbs::connect_error`.
  raw_queue(const host::verbs::protection_domain& domain, const host::verbs::net_address& target,
            std::span<const unsigned char> private_data);

  /// Sends a capsule; false if there is no room or the connection has ended.
  bool send(std::span<const unsigned char> capsule);
  /// The next answer, if one comes in time. Nothing either if the connection ends.
  std::optional<wire::nvme::completion_entry> answer(std::chrono::milliseconds timeout);
  /// True once something posted has failed: the target has ended the connection.
  bool broken() const { return broken_; }

 private:
  void post_receive(std::uint32_t slot);

  host::memory_block memory_;  ///< receives, then capsules
  host::verbs::memory_region region_;
  host::verbs::connection joined_;
  std::uint64_t sent_ = 0;
  std::uint64_t gone_ = 0;  ///< sends that are complete
  bool broken_ = false;
};

}  // namespace gnstor::interop

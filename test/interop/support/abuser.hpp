#pragma once

#include "mutator.hpp"
#include "raw_queue.hpp"
#include <gnstor/wire/nvme/keyed_sgl.hpp>

#include <string>
#include <vector>

namespace gnstor::interop {

/// What became of malformed sequences: each number shows that a kind was met at all.
struct abuse_tally {
  std::uint64_t sequences = 0;
  std::uint64_t queues_refused = 0;    ///< by the connection manager
  std::uint64_t connects_refused = 0;  ///< by Fabrics Connect
  std::uint64_t connects = 0;
  std::uint64_t commands = 0;
  std::uint64_t answers = 0;
  std::uint64_t errors = 0;  ///< answers that refuse the command
  std::uint64_t broken = 0;  ///< connections that the target ended
};

/// A host that keeps to no rule: mutated capsules and private data, wrong keys, oversize SGLs,
/// partings at every step.
class abuser {
 public:
  /// @param subsystems NQNs that the sequences choose from
  abuser(const host::verbs::net_address& target, std::vector<std::string> subsystems);

  /// One sequence. Throws `verbs::connect_error` if the target does not listen any more.
  void run(std::uint64_t seed);
  const abuse_tally& tally() const { return tally_; }

 private:
  using capsule = std::vector<unsigned char>;
  std::optional<raw_queue> join(mutator& m, std::uint16_t queue_id, std::uint16_t controller);
  std::optional<std::uint16_t> connect(mutator& m, raw_queue& queue, const std::string& subsystem,
                                       std::uint16_t queue_id, std::uint16_t controller);
  void command(mutator& m, raw_queue& queue, capsule bytes);
  void exchange(mutator& m, raw_queue& queue, bool admin);
  wire::nvme::keyed_sgl some_data(mutator& m, std::uint32_t bytes) const;
  capsule admin_command(mutator& m) const;
  capsule io_command(mutator& m) const;
  void spoil(mutator& m, capsule& bytes) const;

  host::verbs::net_address target_;
  std::vector<std::string> subsystems_;
  host::verbs::protection_domain domain_;
  host::memory_block data_;
  host::verbs::memory_region region_;
  abuse_tally tally_;
};

}  // namespace gnstor::interop

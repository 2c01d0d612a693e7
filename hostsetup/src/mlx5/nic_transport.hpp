#pragma once

#include "fabrics/transport.hpp"
#include "queue_block.hpp"

#include <mutex>

namespace gnstor::host::mlx5 {

/// The way to a target some of whose queues are the NIC's own: a queue whose memory lies in the
/// block that `prepare` made is joined as a `nic_link`, every other goes another way.
///
/// One protection domain serves both kinds, so that memory is registered once.
class nic_transport final : public fabrics::transport {
 public:
  /// @param others where admin queues, and this CPU's, go; outlives this
  /// @param domain in which `others` registers memory; outlives this
  /// @param scatter responses on the NIC's own queues come inside their completions
  nic_transport(fabrics::transport& others, const verbs::protection_domain& domain,
                verbs::net_address peer, bool scatter = false);

  /// Makes the NIC ready for `count` queues of `depth` requests whose lanes run at `home`, and
  /// tries whether their memory can be registered for a target. Throws `error`: the step, the cause
  /// and the remedy; nothing is left of it then. The block's queues keep it.
  std::shared_ptr<const queue_block> prepare(std::shared_ptr<memory_home> home, std::uint32_t depth,
                                             std::uint32_t count);

  std::string peer() const override { return others_.peer(); }
  std::unique_ptr<fabrics::registered_memory> register_memory(void* address,
                                                              std::uint64_t bytes) override {
    return others_.register_memory(address, bytes);
  }
  std::unique_ptr<fabrics::queue_link> open(const fabrics::queue_request& request,
                                            std::chrono::milliseconds timeout) override;

 private:
  fabrics::transport& others_;
  const verbs::protection_domain& domain_;
  verbs::net_address peer_;
  bool scatter_;
  std::mutex use_;  ///< a controller's thread opens its admin queue beside the others
  std::weak_ptr<const queue_block> block_;
};

}  // namespace gnstor::host::mlx5

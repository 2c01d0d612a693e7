#pragma once

#include "transport.hpp"
#include <proxy/proxy_thread.hpp>
#include <verbs/protection_domain.hpp>

namespace gnstor::host::fabrics {

/// The way to a target over RDMA: one device, one protection domain, one proxy thread for all of
/// its queues.
class rdma_transport final : public transport {
 public:
  /// Finds the device through which `target` is reached. Throws `verbs::connect_error`.
  explicit rdma_transport(const verbs::net_address& target, proxy_thread_options thread = {},
                          std::chrono::milliseconds timeout = std::chrono::seconds(5));

  std::string peer() const override { return target_.text(); }
  std::unique_ptr<registered_memory> register_memory(void* address, std::uint64_t bytes) override;
  std::unique_ptr<queue_link> open(const queue_request& request,
                                   std::chrono::milliseconds timeout) override;

  const verbs::protection_domain& domain() const { return domain_; }

 private:
  verbs::net_address target_;
  verbs::protection_domain domain_;
  proxy_thread thread_;
};

}  // namespace gnstor::host::fabrics

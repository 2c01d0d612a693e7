#pragma once

#include "capabilities.hpp"
#include "doorbell_page.hpp"
#include "verbs/memory_region.hpp"

namespace gnstor::host::mlx5 {

/// A ConnectX prepared for queues whose lanes run at one home: capabilities, event queue and
/// doorbell page. Move-only; outlives what is made on it.
///
/// The protection domain is its user's: memory registered there serves these queues and every other
/// queue of the domain by the same key.
class nic {
 public:
  /// Throws `error` with the remedy if the domain's device is no ConnectX, if its firmware lacks
  /// something, or if the home cannot reach the doorbells. The domain outlives the NIC.
  nic(const verbs::protection_domain& domain, std::shared_ptr<memory_home> home);

  ibv_context* context() const { return domain_->device().context(); }
  std::string name() const { return domain_->device().name(); }
  const verbs::protection_domain& domain() const { return *domain_; }
  /// The protection domain's number, for CREATE_QP.
  std::uint32_t domain_number() const { return domain_number_; }
  const capabilities& can() const { return can_; }
  std::uint32_t event_queue() const { return event_queue_; }
  const doorbell_page& doorbells() const { return doorbells_; }
  const std::shared_ptr<memory_home>& home() const { return home_; }

  /// Registers memory of the home for I/O: through a dma-buf where there is one and the kernel
  /// takes it, else by address. Throws `error` that names both ways.
  ///
  /// Without relaxed ordering: a response must not overtake the data written before it.
  verbs::memory_region register_memory(void* address, std::size_t bytes,
                                       verbs::region_access access) const;

 private:
  std::shared_ptr<memory_home> home_;
  capabilities can_;
  const verbs::protection_domain* domain_;
  std::uint32_t domain_number_;
  std::uint32_t event_queue_;
  doorbell_page doorbells_;
};

}  // namespace gnstor::host::mlx5

#pragma once

#include "completion_queue.hpp"
#include "network_path.hpp"

namespace gnstor::host::mlx5 {

/// Owns the reliable connection of one queue of a block, made by CREATE_QP, and moves it from state
/// to state. Move-only.
class reliable_queue {
 public:
  /// Throws `error`; block and completion queue outlive it.
  /// @param scatter responses come inside their completions, not in the receive ring
  reliable_queue(const queue_block& block, std::uint32_t index, const completion_queue& completions,
                 bool scatter);

  std::uint32_t number() const { return number_; }

  /// Each command takes from `attributes` what the connection manager says for that state. Throws
  /// `error` naming the step.
  void to_init(const ibv_qp_attr& attributes) const;
  void to_ready_to_receive(const ibv_qp_attr& attributes, const network_path& path) const;
  void to_ready_to_send(const ibv_qp_attr& attributes, const network_path& path) const;
  /// Everything posted, and everything posted later, comes back flushed.
  void to_error() const;

 private:
  const nic* nic_;
  std::uint32_t number_ = 0;
  devx_object object_;
};

}  // namespace gnstor::host::mlx5

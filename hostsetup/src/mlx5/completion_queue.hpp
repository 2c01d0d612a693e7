#pragma once

#include "devx_object.hpp"
#include "queue_block.hpp"

namespace gnstor::host::mlx5 {

/// Owns the completion queue of one queue of a block, made by CREATE_CQ. Move-only.
///
/// It ignores overrun, because no lane tells the NIC how far it has read: the ring holds whatever
/// can be unread at once (`mlx5_queue_layout::completion_entries`).
class completion_queue {
 public:
  /// Throws `error`; the block outlives it.
  completion_queue(const queue_block& block, std::uint32_t index);

  std::uint32_t number() const { return number_; }

 private:
  std::uint32_t number_ = 0;
  devx_object object_;
};

}  // namespace gnstor::host::mlx5

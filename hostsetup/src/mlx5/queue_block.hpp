#pragma once

#include "nic.hpp"
#include "umem.hpp"
#include <gnstor/qp/nic_queue_pair.hpp>

namespace gnstor::host::mlx5 {

/// Owns the memory of several queue pairs, in one piece: one memory region, by whose key the NIC
/// writes responses, and one umem, in which it finds rings (capsules are in their entries) and
/// doorbell records. Move-only; outlives its queue pairs.
class queue_block {
 public:
  /// Allocates, formats (every completion entry invalid: zeroes would look like completions) and
  /// registers. Throws `error`.
  queue_block(std::shared_ptr<const nic> on, std::uint32_t depth, std::uint32_t count);

  const nic& device() const { return *nic_; }
  std::uint32_t depth() const { return depth_; }
  mlx5_queue_layout layout() const { return mlx5_queue_layout::of(depth_, nic_queue_pair::blocks); }
  std::uint32_t count() const { return count_; }
  std::uint32_t lkey() const { return region_.lkey(); }
  std::uint32_t umem_id() const { return umem_.id(); }
  /// Which queue of this block begins at `memory`; nothing if none does.
  std::optional<std::uint32_t> index_of(const unsigned char* memory) const;
  /// Makes the memory of queue `index` as new, for another connection. Nobody uses the queue.
  void format(std::uint32_t index) const;
  /// Where queue `index` begins within the umem; a multiple of `mlx5_ring_alignment`.
  std::uint64_t offset(std::uint32_t index) const;
  /// The memory of queue `index`, as the home's lanes address it.
  unsigned char* queue(std::uint32_t index) const { return memory_.data() + offset(index); }

 private:
  std::shared_ptr<const nic> nic_;
  std::uint32_t depth_;
  std::uint32_t count_;
  home_memory memory_;
  verbs::memory_region region_;
  umem umem_;
};

}  // namespace gnstor::host::mlx5

#pragma once
/// What `rdma_queue` keeps of a command whose blocks an engine moves.

#include "rdma_queue.hpp"
#include <gnstor/wire/nvme/dataset_range.hpp>

#include <deque>
#include <vector>

namespace gnstor::serve {

/// The blocks of one command on their way, or of a part of it.
class rdma_queue::movement final : public block_request {
 public:
  static constexpr std::uint32_t all = ~0u;

  void of(rdma_queue& queue, std::uint32_t k, std::uint32_t part = all) {
    queue_ = &queue;
    k_ = k;
    part_ = part;
  }
  /// Of a command that has several: those that come next, the last one first.
  std::vector<wire::nvme::dataset_range> ranges{};

  void done() noexcept override {
    if (memory_lost && memory.bytes != 0) queue_->lose_stage(queue_->commands_[k_], memory);
    if (part_ != all) return queue_->part_ended(k_, part_, outcome);
    queue_->moved_.push_back(k_);  // it has room for all
  }
  std::optional<io_buffer> other_memory() noexcept override {
    command& c = queue_->commands_[k_];
    queue_->lose_stage(c, memory);
    const std::optional<stage_range> found = queue_->other_stage(c, memory.bytes);
    if (!found) return std::nullopt;
    return queue_->reach_.slice(std::uint64_t{found->first} * block_bytes, memory.bytes);
  }

 private:
  rdma_queue* queue_ = nullptr;
  std::uint32_t k_ = 0;
  std::uint32_t part_ = all;
};

/// A command that is passed on to an SSD.
class rdma_queue::relaying final : public ssd_command {
 public:
  void of(rdma_queue& queue, std::uint32_t k) {
    queue_ = &queue;
    k_ = k;
  }
  void done() noexcept override {
    if (memory_lost && memory.bytes != 0) queue_->lose_stage(queue_->commands_[k_], memory);
    queue_->relayed_.push_back(k_);  // it has room for all
  }

 private:
  rdma_queue* queue_ = nullptr;
  std::uint32_t k_ = 0;
};

/// A read that leaves part by part.
struct rdma_queue::parts {
  std::deque<movement> requests;  ///< one for each part, where they stay
  parted_read state;
  std::uint32_t under_way = 0;
  status outcome{};    ///< the first that was not ok
  bool waits = false;  ///< it is in `arrived_`
};

}  // namespace gnstor::serve

#include "queue_block.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <vector>

namespace gnstor::host::mlx5 {
namespace {

std::uint64_t stride(std::uint32_t depth) {
  const std::uint64_t bytes = mlx5_queue_layout::of(depth, nic_queue_pair::blocks).bytes;
  return (bytes + mlx5_ring_alignment - 1) / mlx5_ring_alignment * mlx5_ring_alignment;
}

void format_at(const home_memory& memory, std::uint64_t offset, std::uint32_t depth) {
  std::vector<unsigned char> queue(stride(depth));
  mlx5_format_queue(queue.data(), depth, nic_queue_pair::blocks);
  memory.home().write(memory.data() + offset, queue.data(), queue.size());
}

home_memory formatted(const nic& on, std::uint32_t depth, std::uint32_t count) {
  if (!mlx5_valid_depth(depth, nic_queue_pair::blocks) || count == 0) {
    throw input_error(
        fmt::format("{} queues of depth {}: at least one, and a depth that is a power "
                    "of two from 2 to {}",
                    count, depth, mlx5_max_depth / nic_queue_pair::blocks));
  }
  on.can().require(on.name(), depth);
  home_memory memory(on.home(), stride(depth) * count);
  for (std::uint32_t k = 0; k < count; ++k) format_at(memory, k * stride(depth), depth);
  return memory;
}

}  // namespace

queue_block::queue_block(std::shared_ptr<const nic> on, std::uint32_t depth, std::uint32_t count)
    : nic_(std::move(on)),
      depth_(depth),
      count_(count),
      memory_(formatted(*nic_, depth, count)),
      region_(nic_->register_memory(memory_.data(), memory_.bytes(), {})),
      umem_(nic_->context(), memory_) {}

std::optional<std::uint32_t> queue_block::index_of(const unsigned char* memory) const {
  for (std::uint32_t k = 0; k < count_; ++k) {
    if (queue(k) == memory) return k;
  }
  return {};
}

void queue_block::format(std::uint32_t index) const { format_at(memory_, offset(index), depth_); }

std::uint64_t queue_block::offset(std::uint32_t index) const { return index * stride(depth_); }

}  // namespace gnstor::host::mlx5

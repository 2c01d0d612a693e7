#include "nic_transport.hpp"

#include "nic_link.hpp"

namespace gnstor::host::mlx5 {
namespace {

constexpr std::size_t frame_bytes = 65536;

/// Registers memory as an array's frames will be: only then kernels can use the queues.
void try_frames(const nic& on) {
  const home_memory frames(on.home(), frame_bytes);
  (void)on.register_memory(frames.data(), frames.bytes(),
                           {.remote_read = true, .remote_write = true});
}

}  // namespace

nic_transport::nic_transport(fabrics::transport& others, const verbs::protection_domain& domain,
                             verbs::net_address peer, bool scatter)
    : others_(others), domain_(domain), peer_(std::move(peer)), scatter_(scatter) {}

std::shared_ptr<const queue_block> nic_transport::prepare(std::shared_ptr<memory_home> home,
                                                          std::uint32_t depth,
                                                          std::uint32_t count) {
  auto device = std::make_shared<const nic>(domain_, std::move(home));
  try_frames(*device);
  auto block = std::make_shared<const queue_block>(std::move(device), depth, count);
  const std::lock_guard lock(use_);
  block_ = block;
  return block;
}

std::unique_ptr<fabrics::queue_link> nic_transport::open(const fabrics::queue_request& request,
                                                         std::chrono::milliseconds timeout) {
  std::shared_ptr<const queue_block> block;
  {
    const std::lock_guard lock(use_);
    block = block_.lock();
  }
  const auto index = block != nullptr ? block->index_of(request.memory) : std::nullopt;
  if (!index) return others_.open(request, timeout);
  const fabric_queue as{
      .queue_id = request.queue_id, .controller_id = request.controller, .scatter = scatter_};
  return std::make_unique<nic_link>(connected_queue(std::move(block), *index, peer_, as, timeout));
}

}  // namespace gnstor::host::mlx5

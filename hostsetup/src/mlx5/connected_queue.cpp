#include "connected_queue.hpp"

#include "cm_link.hpp"
#include "reliable_queue.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/fabrics/private_data.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace gnstor::host::mlx5 {
namespace {

/// `index`, which must be one of the block's queues; its memory is as new.
std::uint32_t prepared(const queue_block& block, std::uint32_t index) {
  if (index >= block.count()) {
    throw input_error(fmt::format("queue {} was asked for, but the block has {}: make a larger one",
                                  index, block.count()));
  }
  block.format(index);
  return index;
}

wire::fabrics::connection_request request(const fabric_queue& as, std::uint32_t depth) {
  wire::fabrics::connection_request r{};
  r.recfmt = 0;
  r.qid = as.queue_id;
  r.hrqsize = static_cast<std::uint16_t>(depth);
  r.hsqsize = static_cast<std::uint16_t>(depth - 1);
  r.cntlid = as.controller_id;
  return r;
}

}  // namespace

/// In the order of making: destruction ends the connection first and frees the memory last.
struct connected_queue::state {
  std::shared_ptr<const queue_block> block;
  std::uint32_t index;
  completion_queue completions;
  reliable_queue queue;
  cm_link link;
  std::uint16_t target_receives = 0;
  bool flushed = false;

  state(std::shared_ptr<const queue_block> in, std::uint32_t which, bool scatter,
        const verbs::net_address& peer, cm_link::clock::time_point end)
      : block(std::move(in)),
        index(prepared(*block, which)),
        completions(*block, index),
        queue(*block, index, completions, scatter),
        link(block->device().domain().device(), peer, end) {}

  void join(const fabric_queue& as, cm_link::clock::time_point end) {
    const auto wanted = std::bit_cast<std::array<unsigned char, 32>>(request(as, block->depth()));
    const std::uint32_t most = 1u << std::min(block->device().can().log_max_reads_served, 7u);
    const auto reads = static_cast<std::uint8_t>(std::min<std::uint32_t>(as.reads, most));
    const std::vector<unsigned char> said = link.ask(queue.number(), wanted, reads, end);
    wire::fabrics::connection_accept accepted{};
    std::memcpy(&accepted, said.data(), std::min(said.size(), sizeof accepted));
    target_receives = accepted.crqsize;
    const ibv_qp_attr initial = link.attributes(IBV_QPS_INIT);
    queue.to_init(initial);
    const ibv_qp_attr receiving = link.attributes(IBV_QPS_RTR);
    const network_path path =
        network_path::of(block->device().domain(), receiving.ah_attr, initial.pkey_index);
    queue.to_ready_to_receive(receiving, path);
    queue.to_ready_to_send(link.attributes(IBV_QPS_RTS), path);
    link.establish();
  }

  /// The connection manager does not know the queue pair, so that nobody else flushes it.
  void flush() {
    if (std::exchange(flushed, true)) return;
    queue.to_error();
  }
};

connected_queue::connected_queue(std::shared_ptr<const queue_block> block, std::uint32_t index,
                                 const verbs::net_address& peer, const fabric_queue& as,
                                 std::chrono::milliseconds timeout) {
  const auto end = cm_link::clock::now() + timeout;
  state_ = std::make_unique<state>(std::move(block), index, as.scatter, peer, end);
  state_->join(as, end);
}

connected_queue::connected_queue(connected_queue&& other) noexcept = default;
connected_queue& connected_queue::operator=(connected_queue&& other) noexcept = default;
connected_queue::~connected_queue() = default;

nic_queue_pair connected_queue::ref() const {
  const queue_block& b = *state_->block;
  return {b.queue(state_->index), b.depth(), state_->queue.number(), b.lkey(),
          b.device().doorbells().doorbell()};
}

std::uint16_t connected_queue::target_receives() const { return state_->target_receives; }

bool connected_queue::alive() {
  if (!state_->link.ended()) return true;
  try {
    state_->flush();
  } catch (const error&) {
    // A NIC that was removed takes no command; lanes that wait have their deadlines.
  }
  return false;
}

void connected_queue::disconnect() {
  state_->link.disconnect();
  state_->flush();
}

}  // namespace gnstor::host::mlx5

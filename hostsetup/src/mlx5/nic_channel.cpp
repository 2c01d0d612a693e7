#include "nic_channel.hpp"

#include "fabrics/words.hpp"
#include "nic_link.hpp"

#include <fmt/format.h>

#include <cstring>

namespace gnstor::host::mlx5 {
namespace {

/// Where what lies in a channel's words.
struct word_layout {
  std::size_t object;
  std::size_t outcome;
  std::size_t bytes;

  word_layout(std::uint32_t depth, bool asynchronous)
      : object((remote_channel::bytes(depth, asynchronous) + 127) / 128 * 128),
        outcome(object + (sizeof(remote_channel) + 127) / 128 * 128),
        bytes(outcome + sizeof(std::uint64_t)) {}
};

template <class T>
T* at(const memory_block& memory, std::size_t offset) {
  return reinterpret_cast<T*>(static_cast<unsigned char*>(memory.data()) + offset);
}

std::string failure_words(const fabrics::controller& of, std::uint16_t queue_id, status outcome) {
  return fmt::format("connecting queue {} of the NIC to subsystem '{}' at {}: {}{}", queue_id,
                     of.options().subsystem, of.peer(), fabrics::outcome_words(outcome),
                     outcome.code == status_code::timed_out
                         ? "; if other queues connect, stores do not reach the NIC's doorbell: "
                           "turn off PCIe ACS, or boot with iommu=pt"
                         : "");
}

}  // namespace

nic_channel::nic_channel(fabrics::controller& of, std::shared_ptr<const queue_block> block,
                         std::uint32_t index, const queue_lanes& lanes)
    : block_(std::move(block)),
      index_(index),
      lanes_(lanes),
      words_(lanes.reach, word_layout(block_->depth(), lanes.asynchronous).bytes, lanes.device),
      data_(place::host, sizeof(wire::fabrics::connect_data)),
      registered_(of.register_memory(data_.data(), data_.bytes())),
      slot_(of) {
  open();
}

remote_channel nic_channel::channel() const {
  return remote_channel(any_queue_pair(*queue_), words_.data(), lanes_.asynchronous);
}

bool nic_channel::ended() const {
  if (slot_.ended()) return true;
  channel_state state{};
  words_.read(0, &state, sizeof state);
  return phase_in(state.phase) == channel_phase::error;
}

void nic_channel::open() {
  const std::uint32_t depth = block_->depth();
  const wire::fabrics::connect_data said = slot_.of().connect_data();
  std::memcpy(data_.data(), &said, sizeof said);
  const std::vector<unsigned char> fresh(words_.bytes());
  words_.write(0, fresh.data(), fresh.size());
  queue_ = dynamic_cast<const nic_link&>(slot_.join(block_->queue(index_), depth)).ref();
  const remote_channel object = channel();
  words_.write(word_layout(depth, lanes_.asynchronous).object, &object, sizeof object);
  const status outcome = connect();
  if (!outcome.ok()) throw io_error(failure_words(slot_.of(), slot_.queue_id(), outcome), outcome);
}

/// Sends a lane to connect; what it reports.
status nic_channel::connect() {
  const word_layout where(block_->depth(), lanes_.asynchronous);
  std::uint64_t outcome = status::make(status_code::not_ready, reporter::channel).pack();
  words_.write(where.outcome, &outcome, sizeof outcome);
  const auto patience = std::chrono::nanoseconds(slot_.of().options().timeout).count();
  lanes_.connect(
      {at<const remote_channel>(words_, where.object), 1, at<std::uint64_t>(words_, where.outcome)},
      slot_.connect(registered_->buffer, block_->depth()), static_cast<std::uint64_t>(patience));
  words_.read(where.outcome, &outcome, sizeof outcome);
  return status::unpack(outcome);
}

void nic_channel::reopen(std::chrono::milliseconds timeout) {
  if (ended()) slot_.renew(timeout, [this] { open(); });
}

}  // namespace gnstor::host::mlx5

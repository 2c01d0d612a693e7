#pragma once

#include "array.hpp"
#include "channel/channel_image.hpp"
#include <gnstor/volume/volume_ref.hpp>

namespace gnstor::test {

using simulated_channel = nic_channel;
using simulated_volume = volume_ref<simulated_channel, rendezvous_placement>;

/// A client's queue pair and its memory: joined, drained and made anew.
class connection {
 public:
  /// @param blocks of memory for data
  /// @param admin for admin commands
  connection(std::uint32_t queue, client_id client, std::uint32_t blocks, bool admin = false)
      : queue_(queue),
        client_(client),
        blocks_(blocks),
        admin_(admin),
        data_(std::size_t{blocks} * block_bytes + 4096) {}

  std::uint32_t queue() const { return queue_; }
  client_id client() const { return client_; }
  bool is_open() const { return channel_ && !draining_; }
  bool is_usable() const { return is_open() && channel_->phase() == channel_phase::ready; }
  const simulated_channel& channel() const { return *channel_; }
  char* data(std::uint32_t block) {
    const auto at = reinterpret_cast<std::uintptr_t>(data_.data());
    return reinterpret_cast<char*>((at + 4095) / 4096 * 4096) + std::size_t{block} * block_bytes;
  }
  io_buffer buffer(std::uint32_t block, std::uint32_t count) {
    return {reinterpret_cast<std::uint64_t>(data(block)), std::uint64_t{count} * block_bytes,
            data_key_, data_key_};
  }

  /// Ends whatever is under way: nothing of it can happen once this is open again.
  void reset(simulated_array& array) {
    if (channel_ && !draining_) array.drain(queue_);
    draining_ = true;
  }
  /// The array's power has gone.
  void lose() {
    channel_.reset();
    draining_ = true;
  }
  /// Opens the connection when the array has let go of the one before.
  /// @param now step
  void try_open(simulated_array& array, std::uint64_t now = 0) {
    if (!draining_ || !array.is_drained(queue_)) return;
    memory_ = std::make_unique<memory_image>(64 * 1024);
    const std::uint32_t domain = queue_ + 1;
    const std::uint32_t key =
        array.open_memory(2 * queue_, memory_->host(), memory_->bytes(), domain);
    data_key_ =
        array.open_memory(2 * queue_ + 1, data(0), std::size_t{blocks_} * block_bytes, domain);
    fw::queue_attributes at;
    channel_.emplace(
        make_channel<simulated_channel>(*memory_, simulated_array::depth, 1 + queue_, key, at));
    at.domain = domain;
    channel_->queue().post_receives();
    channel_->counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
    array.join(queue_, at, client_, admin_);
    draining_ = false;
    opened_ = now;
  }
  /// The step at which it was opened.
  std::uint64_t opened() const { return opened_; }

 private:
  std::uint32_t queue_;
  client_id client_;
  std::uint32_t blocks_;
  bool admin_;
  std::vector<char> data_;
  std::unique_ptr<memory_image> memory_;
  std::optional<simulated_channel> channel_;
  std::uint32_t data_key_ = 0;
  bool draining_ = true;
  std::uint64_t opened_ = 0;
};

}  // namespace gnstor::test

#pragma once

#include "qp/memory_image.hpp"
#include <gnstor/channel/mlx5_channel.hpp>
#include <gnstor/io/async_io.hpp>
#include <gnstor/qp/nic_queue_pair.hpp>

namespace gnstor::test {

/// A channel as sessions have it: capsules in entries of two blocks.
using nic_channel = channel<nic_queue_pair>;

/// Builds one channel, not connected yet, in an image.
/// @param key opens the image's memory for the channel's NIC
/// @param same_device the NIC runs on the channel's own device
template <class Channel = mlx5_channel>
Channel make_channel(memory_image& image, std::uint32_t depth, std::uint32_t number,
                     std::uint32_t key, fw::queue_attributes& at, bool same_device = false) {
  constexpr std::uint32_t blocks = Channel::queue_pair_type::blocks;
  auto* queue = image.take<unsigned char>(mlx5_queue_layout::of(depth, blocks).bytes);
  mlx5_format_queue(image.here(queue), depth, blocks);
  at = attributes_of(reinterpret_cast<std::uint64_t>(queue), depth, number, blocks);
  at.same_device = same_device ? 1 : 0;
  return {typename Channel::queue_pair_type(queue, depth, number, key, nullptr, same_device),
          image.take<unsigned char>(Channel::bytes(depth))};
}

/// Operations of a channel that go on, or wait to be taken.
template <class Channel>
std::uint32_t operations_in_use(memory_image& image, const Channel& channel) {
  auto* here = reinterpret_cast<unsigned char*>(image.here(&channel.counters()));
  return async_io(Channel(channel.queue(), here)).in_use();
}

/// Request slots of a channel that are not free.
template <class Channel>
std::uint32_t slots_in_use(memory_image& image, const Channel& channel) {
  channel_state& state = *image.here(&channel.counters());
  return detail::channel_layout(channel.queue().depth()).requests_of(state).in_use();
}

}  // namespace gnstor::test

#pragma once
/// What lanes need to exchange words with a peer, in one image, and the judgement of what they did.

#include "exchange.hpp"
#include "qp/memory_image.hpp"

#include <string>
#include <vector>

namespace gnstor::test {

/// How large an exchange is.
struct exchange_size {
  std::uint32_t blocks = 2;
  std::uint32_t lanes = 3;
  std::uint32_t rounds = 2;
  std::uint32_t channels = 1;
  std::uint32_t depth = 4;
  std::uint64_t first_index = 0;  ///< of every queue
  bool same_device = false;       ///< the NIC runs on the device of the lanes

  std::uint32_t all_lanes() const { return blocks * lanes; }
};

/// Channels and lanes' memory; whose NIC serves them is up to the owner.
class exchange_rig {
 public:
  static constexpr std::uint32_t key = queue_fixture::key;
  static constexpr std::uint32_t most_regions = 4;

  /// @param more bytes that the owner takes of the image
  exchange_rig(exchange_size s, std::size_t more, void* target = nullptr)
      : image(bytes_for(s, more), target), size(s) {
    regions = image.take<fw::memory_region>(most_regions);
    image.here(regions)[1] = {
        0, ~std::uint64_t{0}, fw::local_write | fw::remote_read | fw::remote_write, 1, key, 0};
    auto* table = image.take<remote_memory_channel>(s.channels);
    for (std::uint32_t k = 0; k < s.channels; ++k) {
      channels.push_back(make_channel(k));
      *image.here(table + k) = channels.back();
    }
    client.channels = table;
    client.channel_count = s.channels;
    client.rounds = s.rounds;
    client.local = image.take<std::uint64_t>(s.all_lanes() * 2 * memory_exchange::words);
    remote = image.take<std::uint64_t>(s.all_lanes() * memory_exchange::words);
    client.remote = reinterpret_cast<std::uint64_t>(remote);
    client.lkey = client.rkey = key;
    client.records = image.take<lane_record>(s.all_lanes());
    stop = image.take<std::uint32_t>();
  }

  static std::size_t bytes_for(exchange_size s, std::size_t more) {
    return 65536 + more +
           s.channels *
               (mlx5_queue_layout::of(s.depth).bytes + sizeof(memory_channel_state) + 512) +
           s.all_lanes() * (sizeof(lane_record) + 6 * 8 * memory_exchange::words);
  }

  /// The shared words of channel `k`, on the host.
  memory_channel_state& state(std::uint32_t k = 0) { return *image.here(&channels[k].state()); }

  lane_record total() {
    lane_record t;
    for (std::uint32_t k = 0; k < size.all_lanes(); ++k) {
      const lane_record& r = image.here(client.records)[k];
      t.ended += r.ended;
      t.wrong += r.wrong;
      t.refused += r.refused;
      t.failed += r.failed;
      t.flushed += r.flushed;
      t.unsent += r.unsent;
      t.timed_out += r.timed_out;
      t.late += r.late;
      t.vague += r.vague;
      t.syndrome |= r.syndrome;
    }
    return t;
  }
  /// What is wrong whatever the NIC did.
  std::string judge() {
    const lane_record t = total();
    if (t.ended != size.all_lanes()) return "a lane did not end";
    if (t.refused != 0) return "a channel gave an answer that fits no state";
    if (t.wrong != 0) return "a word had a wrong value";
    return {};
  }
  /// What is wrong where every transfer had to succeed.
  std::string judge_all_done() {
    const std::string fault = judge();
    if (!fault.empty()) return fault;
    const lane_record t = total();
    if (t.failed + t.flushed + t.unsent != 0) return "a transfer failed";
    std::uint64_t sent = 0;
    std::uint64_t done = 0;
    for (std::uint32_t k = 0; k < size.channels; ++k) {
      sent += state(k).common.submitted;
      done += state(k).common.completed;
    }
    if (sent != 2ull * size.all_lanes() * size.rounds) return "transfers went out twice";
    if (done > sent) return "more transfers were completed than sent";
    for (std::uint32_t lane = 0; lane < size.all_lanes(); ++lane) {
      for (std::uint32_t k = 0; k < memory_exchange::words; ++k) {
        if (image.here(remote)[lane * memory_exchange::words + k] !=
            memory_exchange::value(lane, size.rounds - 1, k))
          return "a word did not reach the peer";
      }
    }
    return {};
  }

  memory_image image;
  exchange_size size;
  memory_exchange client;
  std::vector<remote_memory_channel> channels;
  std::vector<fw::queue_attributes> attributes;  ///< of their queue pairs
  fw::memory_region* regions = nullptr;
  std::uint64_t* remote = nullptr;
  std::uint32_t* stop = nullptr;

 private:
  remote_memory_channel make_channel(std::uint32_t k) {
    auto* memory = image.take<unsigned char>(mlx5_queue_layout::of(size.depth).bytes);
    mlx5_format_queue(image.here(memory), size.depth);
    auto& queue = *reinterpret_cast<mlx5_queue_state*>(image.here(memory));
    queue.reserved = queue.published = queue.retired = size.first_index;
    queue.doorbell_record.send =
        wire::mlx5::record_value(static_cast<std::uint16_t>(size.first_index));
    auto* words = image.take<memory_channel_state>();
    image.here(words)->completed = size.first_index;
    attributes.push_back(attributes_of(reinterpret_cast<std::uint64_t>(memory), size.depth, 5 + k));
    attributes.back().same_device = size.same_device ? 1 : 0;
    const mlx5_queue_pair<> ring(memory, size.depth, 5 + k, key, nullptr, size.same_device);
    remote_memory_channel(ring, image.here(words)).open();
    return {ring, words};
  }
};

}  // namespace gnstor::test

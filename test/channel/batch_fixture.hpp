#pragma once

#include "batch.hpp"
#include "channel_image.hpp"

#include <string>

namespace gnstor::test {

/// How large a set of batches is.
struct batch_shape {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;  ///< a block
  std::uint32_t rounds = 4;
  std::uint32_t of_each = 1;  ///< of so many threads one takes part
  std::uint32_t never = ~0u;
  std::uint32_t depth = 32;

  /// Room for those of threads that do not take part, too.
  std::uint32_t requests() const { return blocks * threads * rounds; }
  std::uint32_t sent() const { return (blocks * threads + of_each - 1) / of_each * rounds; }
  std::size_t bytes() const {
    return 16384 + mlx5_queue_layout::of(depth, 2).bytes + mlx5_channel::bytes(depth) +
           requests() * sizeof(letter);
  }
};

/// All that the threads and their peer share, and the judgement of what a run left there.
template <std::uint32_t Warps, class Channel = mlx5_channel>
class batch_fixture {
 public:
  batch_fixture(batch_shape s, std::uint32_t seed, void* target = nullptr)
      : image(s.bytes(), target), shape_(s) {
    constexpr std::uint32_t key = queue_fixture::key;
    auto* regions = image.take<fw::memory_region>(2);
    image.here(regions)[1] = {
        0, ~std::uint64_t{0}, fw::local_write | fw::remote_read | fw::remote_write, 1, key, 0};
    auto* queue = image.take<peer_queue>();
    auto* channel = image.take<Channel>();
    fw::queue_attributes at;
    *image.here(channel) = make_channel<Channel>(image, s.depth, 5, key, at);
    *image.here(queue) = peer_queue{at, {}};
    client.channels = channel;
    client.rounds = s.rounds;
    client.of_each = s.of_each;
    client.never = s.never;
    client.letters = image.take<letter>(s.requests());
    client.tally = image.take<batch_tally>();
    peer.queues = queue;
    peer.regions = fw::region_table(regions, 2);
    peer.letters = client.letters;
    peer.letter_count = s.requests();
    peer.stop = image.take<std::uint32_t>();
    peer.seed = seed;
    peer.in_order = false;
  }

  const batch_tally& tally() { return *image.here(client.tally); }
  std::string judge() {
    const batch_tally& t = tally();
    if (t.ended != shape_.blocks * shape_.threads) return "a thread did not end";
    if (t.stuck != 0) return "the channel did not connect";
    if (t.left != 0) return "a slot was pending after the drain";
    if (t.dispatched != shape_.sent()) return "a request was not handled, or twice";
    if (t.right != shape_.sent()) return "another status, or an answer before its data";
    const peer_record& seen = image.here(peer.queues)->seen;
    if (seen.uncovered != 0) return "the NIC saw a request before its receive";
    return {};
  }

  memory_image image;
  batch<Warps, Channel> client;
  scripted_peer peer;

 private:
  batch_shape shape_;
};

}  // namespace gnstor::test

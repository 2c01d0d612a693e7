#pragma once

#include "channel/channel_image.hpp"
#include "journey.hpp"

#include <string>
#include <vector>

namespace gnstor::test {

/// How large a set of operations is.
struct journey_shape {
  std::uint32_t blocks = 2;
  std::uint32_t lanes = 3;
  std::uint32_t rounds = 2;
  std::uint32_t channels = 2;
  std::uint32_t depth = 8;
  std::uint32_t operations() const { return blocks * lanes * rounds; }
  std::size_t bytes() const {
    return 16384 +
           channels * (2048 + mlx5_queue_layout::of(depth, 2).bytes + mlx5_channel::bytes(depth)) +
           operations() * (4 * sizeof(letter) + sizeof(journey_record) + 8);
  }
};

/// All that the lanes and their peer share, and the judgement of what a run left there.
template <class Channel>
class basic_journey_fixture {
 public:
  basic_journey_fixture(journey_shape s, std::uint32_t seed, void* target = nullptr)
      : image(s.bytes(), target), shape_(s) {
    constexpr std::uint32_t key = queue_fixture::key;
    auto* regions = image.take<fw::memory_region>(2);
    image.here(regions)[1] = {
        0, ~std::uint64_t{0}, fw::local_write | fw::remote_read | fw::remote_write, 1, key, 0};
    auto* queues = image.take<peer_queue>(s.channels);
    auto* channels = image.take<Channel>(s.channels);
    for (std::uint32_t k = 0; k < s.channels; ++k) {
      fw::queue_attributes at;
      channels_.push_back(make_channel<Channel>(image, s.depth, 5 + k, key, at));
      *image.here(channels + k) = channels_.back();
      *image.here(queues + k) = peer_queue{at, {}};
    }
    client.channels = channels;
    client.channel_count = s.channels;
    client.rounds = s.rounds;
    client.seed = seed;
    client.letters = image.take<letter>(4 * s.operations());
    client.records = image.take<journey_record>(s.operations());
    client.handed = image.take<std::uint64_t>(s.operations());
    client.tally = image.take<journey_tally>();
    peer.queues = queues;
    peer.regions = fw::region_table(regions, 2);
    peer.letters = client.letters;
    peer.letter_count = 4 * s.operations();
    peer.stop = image.take<std::uint32_t>();
    peer.seed = seed;
    peer.in_order = false;
  }

  std::string judge() {
    const journey_tally& t = *image.here(client.tally);
    if (t.ended != shape_.blocks * shape_.lanes) return "a lane did not end";
    if (t.stuck != 0) return "an operation could not begin, or a callback was never called";
    if (t.others != 0) return "the wrong callback was called";
    for (std::uint32_t k = 0; k < shape_.operations(); ++k) {
      const journey_record& r = image.here(client.records)[k];
      const std::string fault = judge(r);
      if (!fault.empty()) return fault + " (operation " + std::to_string(k) + ")";
    }
    std::uint32_t held = 0;
    for (const Channel& c : channels_) {
      held += slots_in_use(image, c);
      if (operations_in_use(image, c) != 0) return "an operation's slot was lost";
    }
    return held == t.nevers ? "" : "a request slot was lost";
  }

  memory_image image;
  journey<Channel> client;
  scripted_peer peer;

 private:
  std::string judge(const journey_record& r) const {
    const status s = status::unpack(r.outcome);
    if (r.ended != 1) return "ended " + std::to_string(r.ended) + " times";
    if (s.ok() && r.fails != 0) return "a failed part was forgotten";
    if (s == status{} && r.visible != r.parts) return "it ended before its data was there";
    if (client.hurried) return {};
    if (!s.ok() && r.fails + r.lates == 0) return "a sound operation failed";
    if (s.left_behind() != (r.lates != 0)) return "a silent SSD was forgotten, or invented";
    if (!s.ok() && r.lates == 0 && !(s == status::nvme(2, 0x81, 0))) return "another status";
    return {};
  }

  journey_shape shape_;
  std::vector<Channel> channels_;
};
using journey_fixture = basic_journey_fixture<mlx5_channel>;

}  // namespace gnstor::test

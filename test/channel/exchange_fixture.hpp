#pragma once

#include "channel_image.hpp"
#include "exchange.hpp"
#include "qp/scripted_peer.hpp"
#include "request_judge.hpp"

#include <string>
#include <vector>

namespace gnstor::test {

/// How large an exchange is.
struct exchange_shape {
  std::uint32_t blocks = 2;
  std::uint32_t lanes = 3;
  std::uint32_t rounds = 2;
  std::uint32_t channels = 2;
  std::uint32_t depth = 4;
  bool scatter = false;      ///< responses lie in their completions
  bool same_device = false;  ///< the NIC runs on the device of the lanes

  std::uint32_t requests() const { return blocks * lanes * rounds; }
  std::size_t bytes() const {
    return 8192 +
           channels * (2048 + mlx5_queue_layout::of(depth, 2).bytes + mlx5_channel::bytes(depth)) +
           (requests() + channels) * (sizeof(letter) + sizeof(sent_request));
  }
};

/// Everything that an exchange needs, in one image, and the judgement of what it left there.
template <class Channel>
class basic_exchange_fixture {
 public:
  basic_exchange_fixture(exchange_shape s, std::uint32_t seed, void* target = nullptr)
      : image(s.bytes(), target), shape_(s) {
    constexpr std::uint32_t key = queue_fixture::key;
    auto* regions = image.take<fw::memory_region>(2);
    image.here(regions)[1] = {
        0, ~std::uint64_t{0}, fw::local_write | fw::remote_read | fw::remote_write, 1, key, 0};
    queues_ = image.take<peer_queue>(s.channels);
    auto* channels = image.take<Channel>(s.channels);
    for (std::uint32_t k = 0; k < s.channels; ++k) {
      fw::queue_attributes at;
      channels_.push_back(make_channel<Channel>(image, s.depth, 5 + k, key, at, s.same_device));
      at.scatter_responses = s.scatter ? 1 : 0;
      *image.here(channels + k) = channels_.back();
      *image.here(queues_ + k) = peer_queue{at, {}};
    }
    client.channels = channels;
    client.channel_count = s.channels;
    client.rounds = s.rounds;
    client.seed = seed;
    client.letters = image.take<letter>(s.requests() + s.channels);
    client.requests = image.take<sent_request>(s.requests());
    client.record = image.take<exchange_record>();
    client.detail = wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error);
    peer.queues = queues_;
    peer.regions = fw::region_table(regions, 2);
    peer.letters = client.letters;
    peer.letter_count = s.requests() + s.channels;
    peer.stop = image.take<std::uint32_t>();
    peer.seed = seed;
    peer.in_order = false;
  }

  /// Lets request `id` break its queue pair.
  void break_at(std::uint32_t id, ask how, wire::mlx5::syndrome why) {
    client.breaker = id;
    client.breaks = how;
    client.detail = static_cast<std::uint32_t>(why);
  }

  /// What is wrong with what the run left; empty if nothing is.
  std::string judge() {
    const exchange_record& r = *image.here(client.record);
    if (r.ended != shape_.blocks * shape_.lanes) return "a lane did not end";
    if (r.refused != 0) return "a channel gave an answer that fits no state";
    if (r.stuck != 0) return "a channel's counters did not settle";
    for (std::uint32_t k = 0; k < shape_.channels; ++k) {
      const std::string fault = judge_queue(k);
      if (!fault.empty()) return fault;
    }
    for (std::uint32_t id = 0; id < shape_.requests(); ++id) {
      const std::string fault = judge_of_requests().judge(id);
      if (!fault.empty()) return fault + " (request " + std::to_string(id) + ")";
    }
    return {};
  }

  memory_image image;
  exchange<Channel> client;
  scripted_peer peer;

 private:
  std::string judge_queue(std::uint32_t k) {
    const peer_record& seen = image.here(queues_)[k].seen;
    if (seen.overruns != 0) return "a doorbell beyond the ring, or back";
    if (seen.bad_entries != 0) return "the NIC met an entry that was not complete";
    if (seen.bad_letters != 0) return "the NIC met a request before its data";
    if (client.breaker != ~0u) return {};
    const channel_state& c = *image.here(&channels_[k].counters());
    return judge_of_requests().judge_channel(k, c, slots_in_use(image, channels_[k]));
  }

  request_judge judge_of_requests() {
    return {image.here(client.requests), shape_.requests(), client.breaker, client.breaks,
            client.detail};
  }

  exchange_shape shape_;
  peer_queue* queues_ = nullptr;
  std::vector<Channel> channels_;
};

using exchange_fixture = basic_exchange_fixture<mlx5_channel>;

}  // namespace gnstor::test

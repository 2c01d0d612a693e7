#pragma once

#include "channel/exchange.hpp"
#include "channel/request_judge.hpp"
#include "proxy/proxy_engine.hpp"
#include "qp/memory_image.hpp"
#include "scripted_port.hpp"
#include <gnstor/qp/proxy_queue_pair.hpp>

#include <memory>
#include <string>
#include <vector>

namespace gnstor::test {

using proxy_channel = channel<proxy_queue_pair<>>;

/// How large an exchange over proxy queue pairs is, and how its ports behave.
struct proxy_exchange_shape {
  std::uint32_t blocks = 2;
  std::uint32_t lanes = 3;
  std::uint32_t rounds = 2;
  std::uint32_t channels = 2;
  std::uint32_t depth = 4;
  port_script script{.in_order = false};

  std::uint32_t requests() const { return blocks * lanes * rounds; }
  /// Bytes that lanes and ports share, and bytes that the lanes have for themselves.
  std::size_t shared_bytes() const {
    return 4096 + channels * (256 + proxy_queue_layout::of(depth).shared_bytes()) +
           (requests() + channels) * sizeof(letter);
  }
  std::size_t local_bytes() const {
    return 8192 + requests() * sizeof(sent_request) +
           channels *
               (1024 + proxy_queue_layout::of(depth).local_bytes() + proxy_channel::bytes(depth));
  }
};

/// Everything that an exchange over proxy queue pairs needs: what CPU and lanes share in one image,
/// what only the lanes use in another, and an engine with a scripted port for each channel.
class proxy_exchange {
 public:
  /// @param shared zeroed memory that CPU and lanes reach, of `shared_bytes()` at a multiple of
  /// 128; null if they are on this CPU. @param local where the lanes find their image; null
  /// likewise
  proxy_exchange(const proxy_exchange_shape& s, std::uint32_t seed, void* shared = nullptr,
                 void* local = nullptr)
      : image(s.local_bytes(), local), shape_(s), shared_(s.shared_bytes(), shared) {
    auto* channels = image.take<proxy_channel>(s.channels);
    client.letters = shared_.take<letter>(s.requests() + s.channels);
    port_script script = s.script;
    script.letters = client.letters;
    script.letter_count = s.requests() + s.channels;
    const proxy_queue_layout layout = proxy_queue_layout::of(s.depth);
    for (std::uint32_t k = 0; k < s.channels; ++k) {
      auto* rings = shared_.take<unsigned char>(layout.shared_bytes());
      auto* words = image.take<unsigned char>(layout.local_bytes());
      channels_.emplace_back(proxy_queue_pair<>(rings, s.depth, words),
                             image.take<unsigned char>(proxy_channel::bytes(s.depth)));
      *image.here(channels + k) = channels_.back();
      script.seed = seed + k;
      engines.push_back(
          std::make_unique<gnstor::host::proxy_engine<scripted_port>>(rings, s.depth, script));
      tasks.push_back(engines.back().get());
    }
    client.channels = channels;
    client.channel_count = s.channels;
    client.rounds = s.rounds;
    client.seed = seed;
    client.requests = image.take<sent_request>(s.requests());
    client.record = image.take<exchange_record>();
    client.detail = wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error);
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
    for (std::uint32_t k = 0; k < shape_.channels; ++k) {
      const port_record& seen = engines[k]->port().seen;
      const std::string& fault = engines[k]->fault();
      if (!fault.empty() && !shape_.script.throws) return fault;
      if (seen.bad_order != 0) return "requests reached the port out of order";
      if (seen.bad_letters != 0) return "a request reached the port before its data";
      if (seen.unasked != 0) return "a dead port was given a request";
    }
    if (r.ended != shape_.blocks * shape_.lanes) return "a lane did not end";
    if (r.refused != 0) return "a channel gave an answer that fits no state";
    if (r.stuck != 0) return "a channel's counters did not settle";
    const request_judge judge{image.here(client.requests), shape_.requests(), client.breaker,
                              client.breaks, client.detail};
    for (std::uint32_t k = 0; k < shape_.channels && client.breaker == ~0u; ++k) {
      channel_state* state = image.here(&channels_[k].counters());
      const auto slots = detail::channel_layout(shape_.depth).requests_of(*state);
      const std::string fault = judge.judge_channel(k, *state, slots.in_use());
      if (!fault.empty()) return fault;
    }
    for (std::uint32_t id = 0; id < shape_.requests(); ++id) {
      const std::string fault = judge.judge(id);
      if (!fault.empty()) return fault + " (request " + std::to_string(id) + ")";
    }
    return {};
  }

  memory_image image;
  exchange<proxy_channel> client;
  std::vector<std::unique_ptr<gnstor::host::proxy_engine<scripted_port>>> engines;
  std::vector<gnstor::host::proxy_task*> tasks;

 private:
  proxy_exchange_shape shape_;
  memory_image shared_;
  std::vector<proxy_channel> channels_;
};

}  // namespace gnstor::test

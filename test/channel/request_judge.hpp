#pragma once

#include "exchange.hpp"
#include <gnstor/channel/channel_state.hpp>

#include <string>

namespace gnstor::test {

/// Whether the requests of an exchange ended as they must, whatever carried them.
struct request_judge {
  const sent_request* requests = nullptr;
  std::uint32_t count = 0;
  std::uint32_t breaker = ~0u;
  ask breaks = ask::break_send;
  std::uint32_t detail = 0;

  /// What is wrong with request `id`; empty if nothing is.
  std::string judge(std::uint32_t id) const {
    const sent_request& e = requests[id];
    const status s = status::unpack(e.outcome);
    if (breaker != ~0u) return judge_broken(id, e, s);
    const bool out = s.code == status_code::timed_out;
    switch (static_cast<ask>(e.asked)) {
      case ask::never: return out ? "" : "a request without an answer did not time out";
      case ask::hold:
        if (out) return "";
        break;
      case ask::refuse:
        return s.code == status_code::nvme_error && s.nvme_type == 2 && s.nvme_code == 0x81 &&
                       s.by == reporter::ssd
                   ? ""
                   : "an NVMe error did not reach its request";
      default: break;
    }
    return judge_answer(id, e, s);
  }

  /// What is wrong with channel `k`, which counted `c` and holds `slots` requests at the end.
  std::string judge_channel(std::uint32_t k, const channel_state& c, std::uint32_t slots) const {
    std::uint32_t silent = 0;
    std::uint32_t timed_out = 0;
    for (std::uint32_t id = 0; id < count; ++id) {
      if (requests[id].channel != k) continue;
      silent += requests[id].asked == static_cast<std::uint32_t>(ask::never) ? 1 : 0;
      timed_out += status::unpack(requests[id].outcome).code == status_code::timed_out ? 1 : 0;
    }
    if (slots != silent) return "a request slot was lost";
    if (c.timed_out != timed_out) return "the channel counts another number of time-outs";
    if (c.late != timed_out - silent) return "a late answer was not recognised";
    return {};
  }

 private:
  static std::string judge_answer(std::uint32_t id, const sent_request& e, status s) {
    if (!s.ok()) return "a request that was answered failed";
    if (e.value != static_cast<std::uint32_t>(letter::reply(id))) return "another request's answer";
    return e.visible != 0 ? "" : "an answer came before its data";
  }

  /// The breaker gets the syndrome; of the others on its channel each is answered or flushed.
  std::string judge_broken(std::uint32_t id, const sent_request& e, status s) const {
    const bool named = s.syndrome == detail;
    if (e.channel != requests[breaker].channel) return judge_answer(id, e, s);
    if (id == breaker && breaks == ask::break_send) {
      return s.code == status_code::transport_error && s.by == reporter::nic && named
                 ? ""
                 : "the failing request does not know why";
    }
    if (s.ok()) return id == breaker ? "a broken request succeeded" : judge_answer(id, e, s);
    const bool flushed = s.code == status_code::flushed && (named || s.syndrome == 0x05);
    return flushed ? "" : "a request beside the broken one is neither answered nor flushed";
  }
};

}  // namespace gnstor::test

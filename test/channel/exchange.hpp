#pragma once
/// What every lane of a channel's test runs, on the host runtime and on the GPU.

#include "connect_all.hpp"
#include "qp/letter.hpp"
#include "qp/scripted_peer.hpp"
#include <gnstor/channel/mlx5_channel.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

/// One request as its sender saw it.
struct sent_request {
  std::uint64_t outcome = 0;  ///< `status::pack()`
  std::uint32_t asked = 0;    ///< `ask`
  std::uint32_t detail = 0;   ///< what dword 13 said
  std::uint32_t value = 0;    ///< dword 0 of the answer
  std::uint32_t visible = 0;  ///< the answer's data was there
  std::uint32_t channel = 0;
  std::uint32_t sent = 0;  ///< the request went out
};

/// What the lanes count together. Zero at the start.
struct exchange_record {
  std::uint32_t ended = 0;    ///< lanes that ran to their end
  std::uint32_t nevers = 0;   ///< requests that get no answer
  std::uint32_t twices = 0;   ///< requests that get two
  std::uint32_t stuck = 0;    ///< channels whose counters did not settle
  std::uint32_t refused = 0;  ///< wrong answers of a channel that is dead or closed
};

/// Lanes of one warp use different channels, ask their peer for all sorts of answers, and wait.
template <class Channel = mlx5_channel>
struct exchange {
  struct shared {};

  const Channel* channels = nullptr;
  std::uint32_t channel_count = 1;
  std::uint32_t rounds = 2;
  std::uint32_t seed = 0;
  std::uint32_t silent = ~0u;  ///< the request that gets no answer
  std::uint32_t breaker =
      ~0u;  ///< the request that breaks its queue pair; all others want an answer
  ask breaks = ask::break_send;
  std::uint32_t detail = 0;  ///< dword 13: status or syndrome
  std::uint64_t patience_ns = 40'000;
  letter* letters = nullptr;         ///< [lanes * rounds + channel_count]
  sent_request* requests = nullptr;  ///< [lanes * rounds]
  exchange_record* record = nullptr;
  std::uint32_t* stop = nullptr;  ///< set by the last lane, where no executor does

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t lanes = lane.grid_threads();
    if (!connect_all(channels, channel_count, lane.global_thread() == 0)) count(record->refused);
    std::uint32_t draw = (lane.global_thread() + 1 + seed * 0x10001u) * 2654435761u;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      draw = draw * 1664525u + 1013904223u;
      one(lane.global_thread() * rounds + round, draw);
    }
    if (device_word<std::uint32_t>(record->ended).fetch_add(1, acq_rel) + 1 != lanes) return;
    if (breaker == ~0u) settle(lanes * rounds);
    if (stop != nullptr) system_word<std::uint32_t>(*stop).store(1, release);
  }

 protected:
  GNSTOR_HD static void count(std::uint32_t& counter) {
    device_word<std::uint32_t>(counter).fetch_add(1, relaxed);
  }
  GNSTOR_HD static std::uint64_t seen(std::uint64_t& counter) {
    return device_word<std::uint64_t>(counter).load(relaxed);
  }

  GNSTOR_HD wire::nvme::submission_entry request(std::uint32_t id, ask what) const {
    wire::nvme::submission_entry e{};
    e.opcode = 0xc0;
    e.cdw10 = id;
    e.cdw12 = static_cast<std::uint32_t>(what);
    e.cdw13 = detail;
    return e;
  }

  /// Few requests stay unanswered for long: a channel whose slots are all held takes no request to
  /// let them go.
  GNSTOR_HD ask choose(std::uint32_t id, std::uint32_t draw) const {
    if (breaker != ~0u) return id == breaker ? breaks : ask::answer;
    if (id == silent) return ask::never;
    if (id % rounds == 0 && id / rounds < 2 && (draw >> 28 & 1) != 0) return ask::hold;
    constexpr ask usual[8] = {ask::twice,  ask::refuse, ask::let_go, ask::answer,
                              ask::answer, ask::answer, ask::answer, ask::answer};
    return usual[draw >> 29];
  }

  GNSTOR_HD void one(std::uint32_t id, std::uint32_t draw) const {
    sent_request& e = requests[id];
    const ask what = choose(id, draw);
    if (what == ask::never) count(record->nevers);
    if (what == ask::twice) count(record->twices);
    e.asked = static_cast<std::uint32_t>(what);
    e.detail = detail;
    e.channel = (draw >> 8) % channel_count;
    letters[id].ask(id);
    const Channel& mine = channels[e.channel];
    const bool may_fail = what == ask::never || what == ask::hold;
    status outcome;
    // Where nothing breaks, some lanes leave the waiting for room to the channel.
    const bool patient = breaker == ~0u && !may_fail && (draw >> 20 & 3) != 0;
    if (patient) {
      e.sent = 1;
      outcome = mine.execute(request(id, what), deadline::never(), &e.value);
    }
    for (until more{deadline::never()}; !patient && more;) {
      const result<ticket> sent = mine.submit(request(id, what));
      outcome = sent.status;
      if (sent.status.code == status_code::would_block) {
        (void)mine.poll();
        continue;
      }
      e.sent = static_cast<std::uint32_t>(sent.status.ok());
      if (!sent) break;
      const deadline d = may_fail ? simt::within(patience_ns) : deadline::never();
      outcome = mine.wait(sent.value, d, &e.value);
      break;
    }
    e.outcome = outcome.pack();
    if (breaker != ~0u && outcome.code == status_code::transport_error && id != breaker)
      count(record->refused);
    e.visible = outcome.ok() && letters[id].holds_reply(id) ? 1 : 0;
  }

  /// Lets all late answers and duplicates come in.
  GNSTOR_HD void settle(std::uint32_t id) const {
    std::uint64_t unknown = 0;
    std::uint64_t open = 0;
    for (std::uint32_t k = 0; k < channel_count; ++k) {
      letters[id + k].ask(id + k);
      if (!channels[k].execute(request(id + k, ask::let_go), deadline::never()).ok())
        count(record->stuck);
    }
    for (bounded tries{1'000'000}; tries;) {
      unknown = 0;
      open = 0;
      for (std::uint32_t k = 0; k < channel_count; ++k) {
        (void)channels[k].poll();
        channel_state& c = channels[k].counters();
        open += seen(c.submitted) - seen(c.completed) - seen(c.late);
        unknown += seen(c.unknown);
      }
      if (unknown == record->twices && open == record->nevers) return;
      simt::pause();
    }
    count(record->stuck);
  }
};

}  // namespace gnstor::test

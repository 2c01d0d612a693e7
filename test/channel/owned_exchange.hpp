#pragma once

#include "exchange.hpp"
#include <gnstor/channel/exclusive_channel.hpp>
#include <gnstor/core/hash.hpp>

namespace gnstor::test {

/// The exchange of warps that each own a channel: block k, one warp, channel k. In each turn some
/// lanes send a request and the others only come along.
template <doorbell_policy Doorbell = doorbell::leader_warp, class Channel = mlx5_channel>
struct owned_exchange : exchange<Channel> {
  using queue_pair = typename Channel::queue_pair_type;
  using capsule_type =
      std::conditional_t<queue_pair::blocks == 2, capsule::in_entry, capsule::by_pointer>;
  using owned = exclusive_channel<mlx5_owned_queue<thread_scope_system, capsule_type>, Doorbell>;

  using exchange<Channel>::channels;
  using exchange<Channel>::rounds;
  using exchange<Channel>::seed;
  using exchange<Channel>::detail;
  using exchange<Channel>::breaker;
  using exchange<Channel>::patience_ns;
  using exchange<Channel>::letters;
  using exchange<Channel>::requests;
  using exchange<Channel>::record;
  using exchange<Channel>::stop;

  bool released = true;   ///< each warp gives its channel back
  bool in_a_row = false;  ///< each lane goes through its requests alone, in one `execute_each`

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const simt::group g = lane.warp();
    const std::uint32_t k = lane.block();
    if (g.leads() && channels[k].phase() == channel_phase::connecting &&
        !channels[k].connect(connect_options{}, deadline::never()).ok())
      count(record->refused);
    g.sync();
    owned mine(g, channels[k].template with<Doorbell>());
    std::uint32_t twice = 0;
    std::uint32_t never = 0;
    std::uint32_t next = 0;
    std::uint32_t draw = (lane.global_thread() + 1 + seed * 0x10001u) * 2654435761u;
    if (in_a_row) row(g, mine, draw, twice, never);
    for (std::uint32_t turn = 0; turn < 2 * rounds && !in_a_row; ++turn) {
      draw = draw * 1664525u + 1013904223u;
      const bool wants = next < rounds && (turn - next >= rounds || (draw >> 20 & 1) != 0);
      const std::uint32_t id = lane.global_thread() * rounds + next;
      const ask what = wants ? choose(id, draw) : ask::answer;
      twice += bits(g.ballot(wants && what == ask::twice));
      never += bits(g.ballot(wants && what == ask::never));
      one(g, mine, wants ? id : 0, what, wants, (mix64(seed + turn) & 1) != 0);
      next += wants ? 1 : 0;
    }
    if (breaker == ~0u) settle(g, mine, lane.grid_threads() * rounds + k, twice, never);
    if (released) mine.release(g);
    if (device_word<std::uint32_t>(record->ended).fetch_add(1, acq_rel) + 1 != lane.grid_threads())
      return;
    if (stop != nullptr) system_word<std::uint32_t>(*stop).store(1, release);
  }

 private:
  using exchange<Channel>::choose;
  using exchange<Channel>::count;
  using exchange<Channel>::request;

  GNSTOR_HD static std::uint32_t bits(std::uint32_t mask) {
    return static_cast<std::uint32_t>(cuda::std::popcount(mask));
  }

  GNSTOR_HD void one(const simt::group& g, owned& mine, std::uint32_t id, ask what, bool wants,
                     bool by_ticket) const {
    if (wants) letters[id].ask(id);
    const bool may_fail = what == ask::never || what == ask::hold;
    const deadline d = may_fail ? simt::within(patience_ns) : deadline::never();
    std::uint32_t value = 0;
    const status outcome = by_ticket ? submitted(g, mine, request(id, what), d, &value, wants)
                                     : mine.execute(g, request(id, what), d, &value, wants);
    if (wants) return note(id, what, outcome, value);
    if (!outcome.ok()) count(record->refused);
  }
  /// Writes down how request `id` of this lane ended.
  GNSTOR_HD void note(std::uint32_t id, ask what, const status& outcome,
                      std::uint32_t value) const {
    sent_request& e = requests[id];
    e.asked = static_cast<std::uint32_t>(what);
    e.detail = detail;
    e.channel = simt::lane<>().block();
    e.value = value;
    e.outcome = outcome.pack();
    if (breaker != ~0u && outcome.code == status_code::transport_error && id != breaker)
      count(record->refused);
    e.visible = outcome.ok() && letters[id].holds_reply(id) ? 1 : 0;
  }

  /// All requests of every lane, one after another per lane.
  GNSTOR_HD void row(const simt::group& g, owned& mine, std::uint32_t draw, std::uint32_t& twice,
                     std::uint32_t& never) const {
    const std::uint32_t first = simt::lane<>().global_thread() * rounds;
    std::uint32_t sent = 0;
    ask what = ask::answer;
    std::uint32_t mine_twice = 0;
    std::uint32_t mine_never = 0;
    mine.execute_each(g, true,
                      [&](const status& last, std::uint32_t value,
                          wire::nvme::submission_entry& command, deadline& ends) {
                        if (sent != 0) note(first + sent - 1, what, last, value);
                        if (sent == rounds) return false;
                        const std::uint32_t id = first + sent++;
                        draw = draw * 1664525u + 1013904223u;
                        what = choose(id, draw);
                        mine_twice += what == ask::twice;
                        mine_never += what == ask::never;
                        letters[id].ask(id);
                        command = request(id, what);
                        const bool may_fail = what == ask::never || what == ask::hold;
                        ends = may_fail ? simt::within(patience_ns) : deadline::never();
                        return true;
                      });
    for (std::uint32_t k = 0; k < g.size(); ++k) {
      twice += g.shfl(mine_twice, static_cast<int>(k));
      never += g.shfl(mine_never, static_cast<int>(k));
    }
  }

  /// As `execute`, by way of tickets.
  GNSTOR_HD static status submitted(const simt::group& g, owned& mine,
                                    const wire::nvme::submission_entry& command, deadline d,
                                    std::uint32_t* value, bool wants) {
    status outcome;
    bool unsent = wants;
    for (until more{d}; g.any(unsent);) {
      const bool in_time = static_cast<bool>(more);
      const result<ticket> now = mine.submit(g, command, unsent);
      const bool sent = unsent && now;
      // Who has a slot gives it back before others ask for one again.
      const status answered = mine.wait(g, now.value, d, value, sent);
      if (sent) outcome = answered;
      const bool again = unsent && !sent && now.status.code == status_code::would_block;
      if (unsent && !sent && !again) outcome = now.status;
      if (again && !in_time) outcome = status::make(status_code::timed_out, reporter::channel);
      unsent = again && in_time;
      if (g.any(unsent)) (void)mine.poll(g);
    }
    return outcome;
  }

  /// Lets all late answers and duplicates of the warp's channel come in.
  GNSTOR_HD void settle(const simt::group& g, owned& mine, std::uint32_t id, std::uint32_t twice,
                        std::uint32_t never) const {
    if (g.leads()) letters[id].ask(id);
    const status outcome =
        mine.execute(g, request(id, ask::let_go), deadline::never(), nullptr, g.leads());
    if (!outcome.ok()) count(record->stuck);
    for (bounded tries{1'000'000}; tries;) {
      (void)mine.poll(g);
      mine.save(g);
      std::uint32_t done = 0;
      if (g.leads()) {
        const channel_state& c = mine.counters();
        done = c.unknown == twice && c.submitted - c.completed - c.late == never;
      }
      if (g.broadcast(done) != 0) return;
      simt::pause();
    }
    count(record->stuck);
  }
};

}  // namespace gnstor::test

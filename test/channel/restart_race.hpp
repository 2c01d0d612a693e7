#pragma once
/// Lanes that use a channel while it is reset again and again, and a peer that is drained at once:
/// what a lane has begun is then as late as it can be.

#include <gnstor/channel/channel_restart.hpp>
#include <gnstor/channel/mlx5_channel.hpp>
#include <gnstor/simt/lane.hpp>
#include <hca/queue_reader.hpp>

namespace gnstor::test {

/// What went wrong, and how often what happened. Zero at the start.
struct restart_record {
  std::uint32_t ended = 0;
  std::uint32_t resets = 0;
  std::uint32_t undead = 0;  ///< of these, resets of a dead channel whose queue pair lived
  std::uint32_t ok = 0;
  std::uint32_t blamed = 0;
  std::uint32_t flushed = 0;
  std::uint32_t reset = 0;
  std::uint32_t refused = 0;
  std::uint32_t breaks = 0;        ///< queue pairs that the peer broke
  std::uint32_t wrong_answer = 0;  ///< another request's
  std::uint32_t unexpected = 0;    ///< a status that none of this explains
  std::uint32_t bad_entries = 0;   ///< entries that were overwritten or not complete
  std::uint32_t overruns = 0;      ///< doorbells beyond the ring, or back
  std::uint32_t early = 0;         ///< commands before Connect
  std::uint32_t slot_taken = 0;    ///< commands in the slot of another one that is in flight
  std::uint32_t failed_resets = 0;
};

/// What the host asks of the peer: a system word.
enum class peer_request : std::uint32_t { nothing, drain, drain_dead, drained, serve };

/// What all of them share.
template <class Channel = mlx5_channel>
struct restart_scene {
  Channel channel;
  fw::queue_attributes at;
  fw::region_table regions{nullptr, 0};
  std::uint32_t* request = nullptr;  ///< `peer_request`
  std::uint32_t* stop = nullptr;
  std::uint32_t seed = 0;
  std::uint32_t lanes = 0;
  std::uint32_t sudden = 2;       ///< resets of a channel that works
  std::uint32_t most_breaks = 4;  ///< queue pairs that the peer breaks
  restart_record* record = nullptr;

  GNSTOR_HD static std::uint32_t reply(std::uint32_t id) { return id * 2654435761u + 1; }
  GNSTOR_HD static void count(std::uint32_t& counter) {
    device_word<std::uint32_t>(counter).fetch_add(1, relaxed);
  }
};

/// Asks, waits, and tries again until its request is answered.
template <class Channel>
struct restart_client {
  struct shared {};
  restart_scene<Channel> scene;
  std::uint32_t rounds = 2;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    if (me == 0 && !scene.channel.connect(connect_options{}, deadline::never()).ok())
      restart_scene<>::count(scene.record->unexpected);
    for (std::uint32_t k = 0; k < rounds; ++k) one(me * rounds + k, (me + k) % 3 == 0);
    restart_scene<>::count(scene.record->ended);
  }

 private:
  GNSTOR_HD void one(std::uint32_t id, bool asks) const {
    wire::nvme::submission_entry e{};
    e.opcode = 0xc0;
    e.cdw10 = id;
    for (until more{deadline::never()}; more;) {
      const result<ticket> sent = scene.channel.submit(e);
      std::uint32_t value = 0;
      const status s = sent ? settle(sent.value, asks, value) : sent.status;
      if (s.ok()) {
        restart_scene<>::count(scene.record->ok);
        if (value != restart_scene<>::reply(id)) restart_scene<>::count(scene.record->wrong_answer);
        return;
      }
      note(s, static_cast<bool>(sent));
      if (s.code == status_code::would_block) (void)scene.channel.poll();
    }
  }

  /// Half of the lanes wait, the others ask from time to time.
  GNSTOR_HD status settle(ticket t, bool asks, std::uint32_t& value) const {
    if (!asks) return scene.channel.wait(t, deadline::never(), &value);
    std::uint64_t both = 0;
    status s;
    for (until more{deadline::never()}; more;) {
      s = scene.channel.try_wait(t, &both);
      if (s.code != status_code::would_block) break;
      scene.channel.queue().ring();  // as who waits in vain does, whatever life the channel is in
    }
    value = static_cast<std::uint32_t>(both);
    return s;
  }

  GNSTOR_HD void note(status s, bool sent) const {
    restart_record& r = *scene.record;
    switch (s.code) {
      case status_code::would_block: return;
      case status_code::transport_error: return restart_scene<>::count(r.blamed);
      case status_code::reset:
        return restart_scene<>::count(sent && s.retry_safe() ? r.reset : r.unexpected);
      case status_code::flushed:
        return restart_scene<>::count(sent == s.retry_safe() ? r.unexpected
                                                             : (sent ? r.flushed : r.refused));
      case status_code::not_ready: return restart_scene<>::count(sent ? r.unexpected : r.refused);
      default: return restart_scene<>::count(r.unexpected);
    }
  }
};

/// Resets the channel whenever it is dead, and some times when it is not.
template <class Channel>
struct restart_host {
  struct shared {};
  restart_scene<Channel> scene;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const Channel& c = scene.channel;
    for (until more{deadline::never()}; more;) {
      if (c.phase() != channel_phase::connecting) break;
    }
    std::uint32_t draw = (scene.seed + 7) * 2654435761u;
    std::uint32_t sudden = 0;
    std::uint32_t wait = draw >> 25;
    for (until more{deadline::never()}; more;) {
      if (device_word<std::uint32_t>(scene.record->ended).load(relaxed) == scene.lanes) break;
      const bool now = wait-- == 0 && sudden < scene.sudden;
      if (!now && c.phase() != channel_phase::error) continue;
      sudden += now ? 1 : 0;
      draw = draw * 1664525u + 1013904223u;
      wait = draw >> 25;
      restart_scene<>::count(scene.record->resets);
      const status s = again(now ? peer_request::drain : peer_request::drain_dead);
      // A lane that was sending all the time may have killed the new queue pair already.
      if (!s.ok() && s.code != status_code::flushed)
        restart_scene<>::count(scene.record->failed_resets);
    }
    static_cast<void>(lane);
  }

 private:
  GNSTOR_HD void ask(peer_request what, peer_request answer) const {
    const system_word<std::uint32_t> asked(*scene.request);
    asked.store(static_cast<std::uint32_t>(what), release);
    for (until more{deadline::never()}; more;) {
      if (asked.load(acquire) == static_cast<std::uint32_t>(answer)) return;
    }
  }
  GNSTOR_HD status again(peer_request why) const {
    const channel_restart<Channel> restart(scene.channel);
    const status barred = restart.bar(deadline::never());
    if (!barred.ok()) return barred;
    ask(why, peer_request::drained);
    const status settled = restart.settle(deadline::never());
    if (!settled.ok()) return settled;
    ask(peer_request::serve, peer_request::nothing);
    return restart.connect(connect_options{}, deadline::never());
  }
};

/// NIC and target in one: answers in any order, breaks the queue pair now and then, and forgets all
/// of it at once when it is asked to.
/// As on a reliable connection, whoever is answered was delivered, and so was all before it: no
/// send before an answered one fails.
template <class Channel>
struct restart_peer {
  struct shared {};
  restart_scene<Channel> scene;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    run r{scene, fw::queue_reader(scene.at, scene.regions)};
    r.draw = (scene.seed + 1) * 2654435761u;
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      if (device_word<std::uint32_t>(*scene.stop).load(acquire) != 0) return;
      r.obey();
      const bool fetched = r.fetch();
      if (!r.answer() && !fetched) lane.pause();
    }
  }

 private:
  static constexpr std::uint32_t room = 16;
  static constexpr std::uint32_t blocks = Channel::queue_pair_type::blocks;  ///< of an entry

  struct command {
    std::uint32_t id = 0;
    std::uint16_t name = 0;
    std::uint64_t index = 0;
    bool connects = false;
  };

  struct run {
    const restart_scene<Channel>& scene;
    fw::queue_reader reader;
    std::uint64_t head = 0;
    std::uint64_t receive = 0;
    std::uint64_t completion = 0;
    std::uint64_t bell = 0;
    std::uint64_t answered =
        0;  ///< behind the last entry that was answered: none before it can fail
    std::uint32_t draw = 0;
    std::uint32_t breaks = 0;
    bool serving = true;
    bool broken = false;
    bool connected = false;
    command due[room] = {};
    std::uint32_t count = 0;

    GNSTOR_HD std::uint32_t random(std::uint32_t below) {
      draw = draw * 1664525u + 1013904223u;
      return (draw >> 8) % below;
    }

    GNSTOR_HD void obey() {
      const system_word<std::uint32_t> asked(*scene.request);
      switch (static_cast<peer_request>(asked.load(acquire))) {
        case peer_request::drain_dead:
          if (!broken) ++scene.record->undead;
          [[fallthrough]];
        case peer_request::drain:
          serving = broken = connected = false;
          head = receive = completion = bell = answered = 0;
          count = 0;
          asked.store(static_cast<std::uint32_t>(peer_request::drained), release);
          break;
        case peer_request::serve:
          serving = true;
          asked.store(static_cast<std::uint32_t>(peer_request::nothing), release);
          break;
        default: break;
      }
    }

    GNSTOR_HD bool fetch() {
      if (!serving) return false;
      const std::uint64_t now = reader.doorbell();
      if (now == bell) return false;
      bell = now;
      const auto waiting = static_cast<std::uint16_t>(reader.send_tail() - head);
      if (waiting > scene.at.send_entries) {
        ++scene.record->overruns;
        serving = false;
        return true;
      }
      for (const std::uint64_t end = head + waiting; head < end;) take();
      return waiting != 0;
    }

    GNSTOR_HD void take() {
      const std::uint64_t index = head;
      head += blocks;
      const fw::decoded_request r = reader.request(index);
      if (broken) return fail(index, wire::mlx5::syndrome::flushed);
      if (r.fault != wire::mlx5::syndrome::none || count == room) {
        ++scene.record->bad_entries;
        return fail(index, wire::mlx5::syndrome::local_queue_pair_error);
      }
      const wire::nvme::submission_entry e = reader.capsule(r);
      const bool connects = e.opcode == wire::nvme::fabrics_opcode;
      if (!connects && !connected) ++scene.record->early;
      for (std::uint32_t k = 0; k < count; ++k) {
        if (((due[k].name ^ e.command_id) & (scene.at.send_entries / blocks - 1)) == 0)
          ++scene.record->slot_taken;
      }
      due[count++] = {e.cdw10, e.command_id, index, connects};
    }

    GNSTOR_HD void fail(std::uint64_t index, wire::mlx5::syndrome why) {
      broken = true;
      reader.complete(completion++, wire::mlx5::cqe_opcode::requester_error, index, 0, why,
                      wire::mlx5::opcode::send);
    }

    GNSTOR_HD bool fail_receive() {
      broken = true;
      reader.complete(completion++, wire::mlx5::cqe_opcode::responder_error, receive++, 0,
                      wire::mlx5::syndrome::local_access_error);
      return true;
    }

    /// Answers one command, or breaks the queue pair with it: then all others are flushed.
    GNSTOR_HD bool answer() {
      if (!serving || broken || count == 0) return false;
      if (random(2) == 0) return true;
      const std::uint32_t k = random(count);
      const command c = due[k];
      due[k] = due[--count];
      if (c.index >= answered && connected && breaks < scene.most_breaks && random(6) == 0) {
        ++breaks;
        ++scene.record->breaks;
        if (random(3) == 0) return fail_receive();
        fail(c.index, wire::mlx5::syndrome::remote_operation_error);
        for (; count != 0;) {
          if (due[--count].index >= answered) fail(due[count].index, wire::mlx5::syndrome::flushed);
        }
        return true;
      }
      const auto posted = static_cast<std::uint16_t>(reader.receive_tail() - receive);
      if (posted == 0 || posted > scene.at.receive_entries) ++scene.record->overruns;
      wire::nvme::completion_entry response{};
      response.command_id = c.name;
      response.dw0 = restart_scene<>::reply(c.id);
      connected = connected || c.connects;
      if (c.index >= answered) answered = c.index + 1;
      if (!reader.respond(completion++, receive++, response)) ++scene.record->bad_entries;
      return true;
    }
  };
};

}  // namespace gnstor::test

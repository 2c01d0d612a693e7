/// A memory channel that dies again and again is brought back under the lanes that use it: no
/// transfer ends well that was not done, and none waits for ever.
#include "node_rig.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/channel/memory_channel_restart.hpp>

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t patience_ns = 1'000'000'000;

/// What lanes and the one that resets count together.
struct restart_tally {
  std::uint32_t ended = 0;   ///< lanes
  std::uint32_t wrong = 0;   ///< words that an `ok` did not bring
  std::uint32_t deaths = 0;  ///< transfers that failed
  std::uint32_t odd = 0;     ///< statuses that fit no state
  std::uint32_t resets = 0;
  std::uint32_t stuck = 0;  ///< resets that did not come to their end
};

void count(std::uint32_t& counter) { device_word<std::uint32_t>(counter).fetch_add(1, relaxed); }

/// Lanes that write words to the peer and read them back until that worked, and now and then use a
/// key that opens nothing.
struct restless_lanes {
  struct shared {};
  memory_exchange of;
  std::uint64_t seed = 1;
  restart_tally* seen = nullptr;

  template <class Lane>
  void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const remote_memory_channel c = of.channels[0];
    for (std::uint32_t round = 0; round < of.rounds; ++round) {
      for (std::uint32_t k = 0; k < memory_exchange::words; ++k)
        word(me, k).store(memory_exchange::value(me, round, k), relaxed);
      if (mix64(seed * 977 + me * 31 + round) % 3 == 0) (void)move(c, me, true, true);
      until_done(c, me, true);
      for (std::uint32_t k = 0; k < memory_exchange::words; ++k)
        word(me, memory_exchange::words + k).store(0, relaxed);
      until_done(c, me, false);
      for (std::uint32_t k = 0; k < memory_exchange::words; ++k) {
        if (word(me, memory_exchange::words + k).load(relaxed) !=
            memory_exchange::value(me, round, k))
          count(seen->wrong);
      }
    }
    count(seen->ended);
  }

 private:
  system_word<std::uint64_t> word(std::uint32_t me, std::uint32_t k) const {
    return system_word<std::uint64_t>(of.local[me * 2 * memory_exchange::words + k]);
  }
  void until_done(const remote_memory_channel& c, std::uint32_t me, bool write) const {
    for (until more{simt::within(100 * patience_ns)}; more;) {
      if (move(c, me, write, false)) return;
    }
    count(seen->odd);
  }
  /// One transfer. True if it was done.
  bool move(const remote_memory_channel& c, std::uint32_t me, bool write, bool bad) const {
    one_sided t;
    t.local_address = reinterpret_cast<std::uint64_t>(of.local + me * 2 * memory_exchange::words +
                                                      (write ? 0 : memory_exchange::words));
    t.remote_address = of.remote + std::uint64_t{me} * memory_exchange::bytes;
    t.lkey = of.lkey;
    t.rkey = bad ? 0x999 : of.rkey;
    t.bytes = memory_exchange::bytes;
    t.write = write;
    const result<transfer_ticket> sent = c.submit(t);
    if (!sent) {
      (void)c.poll();
      return false;
    }
    const status s = c.wait(sent.value, simt::within(10 * patience_ns));
    if (s.ok()) {
      if (bad) count(seen->odd);
      return true;
    }
    if (s.code == status_code::reset) return false;
    if (s.code != status_code::flushed && s.code != status_code::transport_error) count(seen->odd);
    count(seen->deaths);
    // Its memory is free once the channel was made again, and the ticket says so.
    status late = s;
    for (until back{simt::within(10 * patience_ns)}; back;) {
      late = c.try_wait(sent.value);
      if (late.code == status_code::reset) return false;
      // It was done: whoever took its completion had not come to say so when the channel died.
      if (late.ok()) {
        if (bad) count(seen->odd);
        return true;
      }
    }
    count(seen->odd);
    return false;
  }
};

/// One lane that resets the channel whenever it has died, until all others have ended.
struct restarting_lane {
  struct shared {};
  remote_memory_channel channel;
  fw::queue_context* queue = nullptr;
  std::uint32_t lanes = 0;
  restart_tally* seen = nullptr;

  template <class Lane>
  void operator()(Lane&) const {
    for (until more{simt::within(1'000 * patience_ns)}; more;) {
      if (device_word<std::uint32_t>(seen->ended).load(acquire) == lanes) return;
      if (channel.phase() == channel_phase::error) reset();
    }
  }

 private:
  void reset() const {
    const memory_channel_restart<remote_memory_channel> r(channel);
    const system_word<std::uint32_t> life(queue->active);
    const deadline d = simt::within(10 * patience_ns);
    status s = r.bar(d);
    if (s.ok()) {
      life.store(static_cast<std::uint32_t>(fw::queue_life::draining), release);
      for (until more{d}; more;) {
        if (life.load(acquire) == static_cast<std::uint32_t>(fw::queue_life::drained)) break;
      }
      s = r.settle(d);
    }
    if (s.ok()) {
      life.store(static_cast<std::uint32_t>(fw::queue_life::serving), release);
      s = r.open();
    }
    count(s.ok() ? seen->resets : seen->stuck);
  }
};

std::string restarted(host::options chosen, exchange_size s) {
  node_rig r(s);
  restart_tally seen;
  restless_lanes kernel{r.client, chosen.seed, &seen};
  chosen.step_budget = 40'000'000;
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, kernel);
  machine.spawn(1, 1,
                restarting_lane{r.channels[0], r.image.here(r.node.queues), s.all_lanes(), &seen});
  machine.serve_in(simt::domain::nic, r.node.shape.roles(), 1, *r.stop, fw::memory_service{r.node});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (seen.stuck != 0) return "a reset did not come to its end";
  if (seen.wrong != 0) return "a transfer ended well that was not done";
  if (seen.odd != 0) return "a transfer ended as none may";
  if (seen.ended != s.all_lanes()) return "a lane did not end";
  if (seen.deaths != 0 && seen.resets == 0) return "nothing was reset";
  if (resets_in(r.state().common.phase) != seen.resets) return "resets were not counted";
  return {};
}

constexpr std::uint64_t share = 60;

}  // namespace

TEST_CASE("a memory channel comes back under its lanes, fast") {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    CAPTURE(seed);
    CHECK(restarted({.seed = seed}, {.blocks = 2, .lanes = 32, .rounds = 3, .depth = 16}) == "");
  }
}

TEST_CASE("a memory channel comes back under its lanes, seeded") {
  sweep(host::mode::seeded, share, [](host::options o) { return restarted(o, {}); });
}

TEST_CASE("a memory channel comes back under its lanes, weak") {
  sweep(host::mode::weak, share, [](host::options o) { return restarted(o, {}); });
}

TEST_CASE(
    "a ticket of any former life says whether its transfer was done, or that it never will be") {
  node_rig r({.blocks = 1, .lanes = 1, .depth = 4}, 1, 8192);
  auto* memory = r.image.take<unsigned char>(4096);
  const remote_memory_channel c = r.channels[0];
  const memory_channel_restart<remote_memory_channel> restart(c);
  one_sided t;
  t.local_address = t.remote_address = reinterpret_cast<std::uint64_t>(memory);
  t.lkey = t.rkey = node_rig::key;
  t.bytes = 8;
  const simt::group me = simt::group::self();
  fw::transfer_engine engine(r.node, 0);
  system_word<std::uint32_t> life(r.image.here(r.node.queues)->active);
  const auto serve = [&] {
    for (std::uint32_t k = 0; k < 8; ++k) engine.tick(me);
  };
  const auto reset = [&] {
    const deadline d = simt::within(patience_ns);
    CHECK(restart.bar(d).ok());
    CHECK_FALSE(c.submit(t));
    life.store(static_cast<std::uint32_t>(fw::queue_life::draining), release);
    serve();
    CHECK(life.load(acquire) == static_cast<std::uint32_t>(fw::queue_life::drained));
    CHECK(restart.settle(d).ok());
    CHECK(c.submit(t).status.code == status_code::not_ready);
    life.store(static_cast<std::uint32_t>(fw::queue_life::serving), release);
    CHECK(restart.open().ok());
    serve();
  };
  const auto ended = [&](transfer_ticket which) {
    serve();
    return c.try_wait(which).code;
  };
  const transfer_ticket good = c.submit(t).value;
  CHECK(ended(good) == status_code::ok);
  t.rkey = 0x999;
  const transfer_ticket bad = c.submit(t).value;
  t.rkey = node_rig::key;
  const transfer_ticket behind = c.submit(t).value;
  CHECK(ended(bad) == status_code::transport_error);
  CHECK(ended(behind) == status_code::flushed);
  reset();
  CHECK(c.phase() == channel_phase::ready);
  CHECK(ended(good) == status_code::ok);
  CHECK(ended(bad) == status_code::reset);
  CHECK(ended(behind) == status_code::reset);
  for (std::uint32_t k = 0; k < 12; ++k) CHECK(ended(c.submit(t).value) == status_code::ok);
  CHECK(ended(good) == status_code::ok);
  CHECK(ended(bad) == status_code::reset);
  CHECK(ended(behind) == status_code::reset);
  reset();  // also one that works
  CHECK(ended(bad) == status_code::reset);
  CHECK(ended(good) == status_code::reset);  // too long ago to be known
  const transfer_ticket last = c.submit(t).value;
  CHECK(ended(last) == status_code::ok);
  c.close();
  CHECK(restart.bar(simt::within(patience_ns)).code == status_code::closed);
}

TEST_CASE("a queue pair is drained when its copy workers have ended, and tells of nothing") {
  node_rig r({.blocks = 1, .lanes = 1}, 1, 1 << 17);
  auto* memory = r.image.take<unsigned char>(1 << 16);
  const remote_memory_channel c = r.channels[0];
  one_sided t;
  t.local_address = t.remote_address = reinterpret_cast<std::uint64_t>(memory);
  t.lkey = t.rkey = node_rig::key;
  t.bytes = 1 << 14;
  const transfer_ticket sent = c.submit(t).value;
  const simt::group me = simt::group::self();
  fw::transfer_engine engine(r.node, 0);
  fw::transfer_worker worker(r.node, 0);
  engine.tick(me);
  constexpr auto draining = static_cast<std::uint32_t>(fw::queue_life::draining);
  constexpr auto drained = static_cast<std::uint32_t>(fw::queue_life::drained);
  const system_word<std::uint32_t> life(r.image.here(r.node.queues)->active);
  life.store(draining, release);
  for (std::uint32_t piece = 0; piece < 4; ++piece) {
    for (std::uint32_t k = 0; k < 4; ++k) engine.tick(me);
    CHECK(life.load(acquire) == draining);
    worker.tick(me);
  }
  for (std::uint32_t k = 0; k < 4; ++k) engine.tick(me);
  CHECK(life.load(acquire) == drained);
  CHECK(c.try_wait(sent).code == status_code::would_block);
}

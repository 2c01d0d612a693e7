/// A session's dead channel is brought back while kernels use it and its neighbour.
#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::literals;
namespace host = gnstor::host;

namespace {

/// What lanes count together.
struct tally {
  std::uint32_t rounds[2] = {};  ///< done on each channel
  std::uint32_t failed[2] = {};
  std::uint32_t wrong = 0;
  std::uint32_t stop = 0;
};

/// Lanes that write and read blocks of their own, the odd ones by channel 1, until they are asked
/// to stop.
struct traffic {
  struct shared {};
  volume_info info;
  channel_set<remote_channel> channels;
  io_buffer pages;
  tally* seen = nullptr;
  std::uint32_t most_rounds = ~0u;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const remote_volume volume(info, channel_set<remote_channel>(&channels[me % 2], 1),
                               rendezvous_placement(info.ssd_count));
    const io_buffer page = pages.slice(std::uint64_t{me} * block_bytes, block_bytes);
    auto* words = reinterpret_cast<std::uint64_t*>(page.address);
    for (std::uint32_t k = 0; k < most_rounds; ++k) {
      if (device_word<std::uint32_t>(seen->stop).load(relaxed) != 0) return;
      const std::uint64_t stamp = mix64(me * 0x10000u + k);
      until_done(me % 2, [&](deadline d) {
        for (std::uint32_t w = 0; w < block_bytes / 8; ++w) words[w] = stamp + w;
        return volume.write(vba(me), 1, page, d);
      });
      until_done(me % 2, [&](deadline d) {
        for (std::uint32_t w = 0; w < block_bytes / 8; ++w) words[w] = ~stamp;
        return volume.read(vba(me), 1, page, d);
      });
      for (std::uint32_t w = 0; w < block_bytes / 8; ++w) {
        if (words[w] != stamp + w) count(seen->wrong);
      }
      count(seen->rounds[me % 2]);
    }
  }

 private:
  GNSTOR_HD static void count(std::uint32_t& counter) {
    device_word<std::uint32_t>(counter).fetch_add(1, relaxed);
  }
  template <class Work>
  GNSTOR_HD void until_done(std::uint32_t channel, Work work) const {
    for (until more{deadline::never()}; more;) {
      const status s = work(simt::within(20'000'000'000));
      if (s.ok()) return;
      count(seen->failed[channel]);
      // A request that the queue pair's death left behind is over once the channel was reset.
      for (until back{deadline::never()}; back && !s.retry_safe();) {
        if (channels[channel].phase() == channel_phase::ready) break;
      }
    }
  }
};

std::uint32_t seen_now(std::uint32_t& word) {
  return device_word<std::uint32_t>(word).load(relaxed);
}
/// Waits until `what` is true; 20 seconds at most.
template <class What>
bool eventually(What what) {
  for (until more{simt::within(20'000'000'000)}; more;) {
    if (what()) return true;
  }
  return false;
}

/// A read with a key that opens nothing: its queue pair breaks.
void kill(host::session& s, const volume_info& v, std::uint32_t k, io_buffer page) {
  page.rkey = 0xdead00;
  const remote_volume volume(v, channel_set<remote_channel>(&s.channels()[k], 1),
                             rendezvous_placement(v.ssd_count));
  const status died = volume.read(vba(0), 1, page, simt::within(5'000'000'000));
  CHECK(host::to_string(died).find("not registered") != std::string::npos);
}

struct reset_rig {
  explicit reset_rig(const std::string& where)
      : s(where, {.channels = 2, .depth = depth}),
        v(s.create_volume({.bytes = 1 << 20})),
        memory(s.allocate(lanes * block_bytes)),
        pages(s.register_memory(memory.data(), memory.bytes())) {}
  traffic kernel(std::uint32_t rounds = ~0u) { return {v, s.channels(), pages, &seen, rounds}; }

  static constexpr std::uint32_t lanes = 24;
  /// More than all lanes ask for at once: one more thread would wait long for a slot.
  static constexpr std::uint32_t depth = 64;
  host::session s;
  volume_info v;
  host::memory_block memory;
  io_buffer pages;
  tally seen;
};

}  // namespace

TEST_CASE("a dead channel comes back under the kernels that use it, and its neighbour runs on") {
  for (const std::string where :
       {"emu:?capacity=16M&runner=cpu", "emu:?capacity=16M&runner=cpu&transport=proxy"}) {
    CAPTURE(where);
    reset_rig r(where);
    std::string fault;
    std::thread kernels([&] {
      try {
        host::executor machine;
        machine.spawn(3, 8, r.kernel());
        r.s.attach(machine);
        machine.run();
      } catch (const std::exception& e) {
        fault = e.what();
      }
    });
    for (std::uint32_t round = 0; round < 3; ++round) {
      CAPTURE(round);
      const std::uint32_t before = seen_now(r.seen.rounds[0]);
      CHECK(eventually([&] { return seen_now(r.seen.rounds[0]) > before + 20; }));
      kill(r.s, r.v, 0, r.pages.slice(0, block_bytes));
      CHECK(eventually([&] { return r.s.phase(0) == channel_phase::error; }));
      CHECK(r.s.phase(1) == channel_phase::ready);
      const std::uint32_t other = seen_now(r.seen.rounds[1]);
      CHECK(eventually([&] { return seen_now(r.seen.rounds[1]) > other + 20; }));
      r.s.reset_channel(0);
      CHECK(r.s.phase(0) == channel_phase::ready);
    }
    const std::uint32_t after = seen_now(r.seen.rounds[0]);
    CHECK(eventually([&] { return seen_now(r.seen.rounds[0]) > after + 20; }));
    r.s.reset_channel(0);  // also one that works
    r.s.reset_channel(1);
    const std::uint32_t last = seen_now(r.seen.rounds[1]);
    CHECK(eventually([&] { return seen_now(r.seen.rounds[1]) > last + 20; }));
    device_word<std::uint32_t>(r.seen.stop).store(1, relaxed);
    kernels.join();
    CHECK(fault == "");
    CHECK(r.seen.wrong == 0);
    CHECK(r.seen.failed[0] != 0);
    const channel_state& c = r.s.channels()[0].counters();
    const detail::request_table<thread_scope_device> slots(&r.s.channels()[0].counters() + 1,
                                                           reset_rig::depth);
    CHECK(slots.in_use() == 0);
    CHECK(resets_in(c.phase) == 4);
  }
}

TEST_CASE("a dead channel comes back between the runs of a simulated node") {
  reset_rig r("emu:?capacity=16M&runner=sim");
  const auto run = [&] {
    host::executor machine(
        {.run = simt::host::mode::seeded, .seed = 5, .step_budget = 200'000'000});
    machine.spawn(2, 2, r.kernel(2));
    r.s.attach(machine);
    machine.run();
  };
  run();
  host::executor machine;
  machine.spawn(
      1, 1, [](auto&, host::session* s, volume_info v, io_buffer page) { kill(*s, v, 0, page); },
      &r.s, r.v, r.pages.slice(0, block_bytes));
  r.s.attach(machine);
  machine.run();
  CHECK(r.s.phase(0) == channel_phase::error);
  r.s.reset_channel(0);
  CHECK(r.s.phase(0) == channel_phase::ready);
  run();
  CHECK(r.seen.wrong == 0);
  CHECK(r.seen.failed[0] == 0);
  CHECK(r.seen.rounds[0] == 8);
}

TEST_CASE(
    "a command that a silent SSD swallowed does not hold up a reset, and its buffer is free") {
  reset_rig r("emu:?capacity=16M&ssds=1&replicas=1&runner=cpu");
  r.s.inject_fault(0, "silent");
  const remote_volume volume(r.v, channel_set<remote_channel>(&r.s.channels()[0], 1),
                             rendezvous_placement(1));
  const io_buffer page = r.pages.slice(0, block_bytes);
  for (std::uint32_t k = 0; k < reset_rig::depth; ++k)
    CHECK(volume.read(vba(0), 1, page, simt::within(200'000)).left_behind());
  CHECK_FALSE(r.s.channels()[0].submit({}));
  r.s.inject_fault(0, "none");
  r.s.reset_channel(0, 3_s);
  for (std::uint32_t k = 0; k < 2 * reset_rig::depth; ++k)
    CHECK(volume.read(vba(0), 1, page, simt::within(5'000'000'000)).ok());
}

TEST_CASE("what a silent SSD swallowed is answered once the SSD counts as dead, and only then") {
  for (const std::string more : {"", "&transport=proxy"}) {
    CAPTURE(more);
    reset_rig r("emu:?capacity=16M&ssds=1&replicas=1&runner=cpu" + more);
    const remote_channel& channel = r.s.channels()[0];
    wire::nvme::submission_entry flush = wire::nvme::make_flush(0, 1);
    flush.dptr = wire::nvme::make_keyed_sgl(0, 0, 0);
    const auto answer = [&](ticket t, duration patience) {
      return channel.wait(t, simt::within(patience));
    };
    const auto sent = [&] {
      const result<ticket> t = channel.submit(flush);
      REQUIRE(t);
      return t.value;
    };
    r.s.inject_fault(0, "silent");
    // Until the array has taken it.
    const auto swallowed = [&] {
      const ticket t = sent();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      CHECK(channel.try_wait(t).code == status_code::would_block);
      return t;
    };
    const ticket first = swallowed();
    const ticket second = swallowed();
    r.s.inject_fault(0, "dead");
    for (const ticket t : {first, second}) {
      const status s = answer(t, 5_s);
      CHECK(s.code == status_code::nvme_error);
      CHECK(s.nvme_code == 6);
    }
    CHECK(answer(sent(), 10_s).nvme_code == 6);
    r.s.inject_fault(0, "none");
    // Each came back once, so that the queue pair has room for as many as before.
    for (std::uint32_t k = 0; k < 4 * reset_rig::depth; ++k) CHECK(answer(sent(), 10_s).ok());

    r.s.inject_fault(0, "silent");
    for (int k = 0; k < 3; ++k) CHECK(answer(sent(), 20_ms).left_behind());
    r.s.reset_channel(0, 10_s);  // takes it back, so that nothing is left to answer
    const ticket later = swallowed();
    r.s.inject_fault(0, "dead");
    CHECK(answer(later, 10_s).nvme_code == 6);
    r.s.inject_fault(0, "none");
    for (std::uint32_t k = 0; k < 4 * reset_rig::depth; ++k) CHECK(answer(sent(), 10_s).ok());
    CHECK(channel.counters().unknown == 0);
    CHECK(channel.counters().late == 0);
  }
}

TEST_CASE("a channel that does not exist or was closed is not reset, and the session says why") {
  reset_rig r("emu:?capacity=16M");
  const auto said = [&](std::uint32_t k) -> std::string {
    try {
      r.s.reset_channel(k);
    } catch (const host::error& e) {
      return e.what();
    }
    return {};
  };
  CHECK(said(2).find("this session has 2") != std::string::npos);
  r.s.channels()[1].close();
  CHECK(r.s.phase(1) == channel_phase::closed);
  CHECK(said(1).find("channel closed") != std::string::npos);
  CHECK(said(0) == "");
}

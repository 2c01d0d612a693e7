/// Several ring pairs per port, each with a flow of its own: frames of a 5-tuple come to one ring,
/// and each comes out once and in order.
// label: thorough

#include "qp/seed_sweep.hpp"
#include "reference_rss.hpp"
#include "thrown.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/packet/numbered_sink.hpp>
#include <gnstor/packet/numbered_source.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// What a kernel saw of a numbered frame.
struct sighting {
  std::uint32_t hash;
  std::uint8_t type;
  std::uint8_t ring;   ///< and 1
  std::uint16_t seen;  ///< how often
};

/// Notes by which ring each frame of a stream came, and passes it on.
struct note_ring {
  std::uint8_t ring = 0;
  sighting* of = nullptr;                     ///< of each number
  gnstor::host::packet_flow* ends = nullptr;  ///< stops with its first packet
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) const {
    using frame = wire::ethernet::numbered_frame;
    frame::label which{};
    if (!frame::read(p.data(), p.length(), which)) return packet_verdict::drop;
    if (ends != nullptr) ends->stop();
    sighting& s = of[which.sequence];
    s.hash = p.rss_hash();
    s.type = static_cast<std::uint8_t>(p.rss_type());
    s.ring = static_cast<std::uint8_t>(ring + 1);
    ++s.seen;
    return packet_verdict::forward;
  }
};

constexpr gnstor::host::packet_flow_options few = {.depth = 8, .turn = 4, .buffers = 16};

/// A flow on each ring pair from port 0 to port 1, and what they have seen of each frame.
class ring_rig {
 public:
  ring_rig(const std::string& endpoint, std::uint64_t frames,
           const gnstor::host::packet_flow_options& shape = few)
      : nic_(endpoint), seen_(frames) {
    for (std::uint32_t q = 0; q < nic_.queues(); ++q) {
      gnstor::host::packet_flow_options o = shape;
      o.receive_queue = o.send_queue = q;
      flows_.emplace_back(nic_, o);
    }
  }

  /// What went wrong, or nothing.
  /// @param ends the flow that stops with its first packet, or none
  std::string run(const simt::host::options& chosen = {}, std::size_t ends = ~std::size_t{0}) {
    simt::host::executor machine(chosen);
    for (std::size_t q = 0; q < flows_.size(); ++q) {
      flows_[q].spawn(machine, note_ring{static_cast<std::uint8_t>(q), seen_.data(),
                                         q == ends ? &flows_[q] : nullptr});
    }
    nic_.attach(machine);
    const std::string what = run_to_end(machine);
    if (!what.empty()) return what;
    try {
      nic_.check();
    } catch (const gnstor::host::error& e) {
      return e.what();
    }
    return {};
  }

  /// What is wrong where each frame should have come once, to the ring of its 5-tuple.
  std::string fault(std::uint32_t flows) {
    std::vector<std::uint64_t> of_ring(flows_.size());
    for (std::uint64_t n = 0; n < seen_.size(); ++n) {
      const sighting& s = seen_[n];
      const std::uint32_t hash = reference_hash_of(0, n, flows);
      const std::size_t ring = hash % 128 % flows_.size();
      if (s.seen != 1) return fmt::format("frame {} came {} times", n, s.seen);
      if (s.hash != hash || s.type != 7) return fmt::format("frame {} has another hash", n);
      if (s.ring != ring + 1) return fmt::format("frame {} came to ring {}", n, s.ring - 1);
      ++of_ring[ring];
    }
    const gnstor::host::nic_statistics in = nic_.statistics(0);
    const gnstor::host::nic_statistics out = nic_.statistics(1);
    for (std::size_t q = 0; q < flows_.size(); ++q) {
      if (flows_[q].count(packet_cause::received) != of_ring[q] ||
          in.queues[q].delivered != of_ring[q] || out.queues[q].sent != of_ring[q] ||
          in.queues[q].missed != 0) {
        return fmt::format("ring pair {} counts other frames than the {} that are its own", q,
                           of_ring[q]);
      }
    }
    return {};
  }

  gnstor::host::nic& nic() { return nic_; }
  gnstor::host::packet_flow& flow(std::size_t k) { return flows_[k]; }
  const std::vector<sighting>& seen() const { return seen_; }

 private:
  gnstor::host::nic nic_;
  std::vector<sighting> seen_;
  std::deque<gnstor::host::packet_flow> flows_;
};

/// What is wrong where ring 1 of three was stopped by its first packet; nothing if all is well.
std::string fault_beside_stopped(ring_rig& rig, std::uint64_t frames, std::uint32_t flows) {
  std::uint64_t of_ring[3] = {};
  for (std::uint64_t n = 0; n < frames; ++n) ++of_ring[reference_hash_of(0, n, flows) % 128 % 3];
  const gnstor::host::nic_statistics in = rig.nic().statistics(0);
  if (in.made != frames) return "the generator did not end";
  for (const std::size_t q : {0, 2}) {
    if (in.queues[q].delivered != of_ring[q] || in.queues[q].missed != 0 ||
        rig.flow(q).count(packet_cause::sent) != of_ring[q]) {
      return fmt::format("ring {} had {} frames, missed {} and sent {} of {}", q,
                         in.queues[q].delivered, in.queues[q].missed,
                         rig.flow(q).count(packet_cause::sent), of_ring[q]);
    }
  }
  if (in.queues[1].missed == 0) return "the ring did not stop";
  if (in.queues[1].delivered + in.queues[1].missed != of_ring[1]) return "a frame in no account";
  return rig.flow(1).count(packet_cause::stuck) == 0 ? "" : "the NIC kept its ring";
}

}  // namespace

TEST_CASE("frames of a 5-tuple come to the ring of their hash, once and in order") {
  for (const char* runner : {"cpu", "sim", "gpu"}) {
    for (const std::uint32_t queues : {2, 3, 8, 16}) {
      CAPTURE(runner);
      CAPTURE(queues);
      // Blocks are many lanes.
      const std::uint64_t frames = under_tsan || std::string(runner) == "gpu" ? 600 : 3000;
      ring_rig rig(fmt::format("emu-nic:?queues={}&flows=200&frames={}&runner={}&late=200", queues,
                               frames, runner),
                   frames);
      CHECK(rig.run() == "");
      CHECK(rig.fault(200) == "");
    }
  }
}

TEST_CASE("seeded and weak: no schedule mixes the rings of a port") {
  for (const simt::host::mode mode : {simt::host::mode::seeded, simt::host::mode::weak}) {
    sweep(mode, 30, [](simt::host::options chosen) -> std::string {
      chosen.step_budget = 20'000'000;
      ring_rig rig("emu-nic:?queues=2&flows=5&frames=60&size=60&runner=sim&late=300&seed=" +
                       std::to_string(chosen.seed),
                   60);
      const std::string what = rig.run(chosen);
      return what.empty() ? rig.fault(5) : what;
    });
  }
}

TEST_CASE("one 5-tuple fills one ring, and 65,536 fill all of them alike") {
  ring_rig one("emu-nic:?queues=4&flows=1&frames=500&runner=sim", 500);
  CHECK(one.run() == "");
  CHECK(one.fault(1) == "");
  const std::uint64_t frames = under_tsan ? 2000 : 40'000;
  ring_rig all(fmt::format("emu-nic:?queues=4&flows=65536&frames={}&size=60&runner=cpu", frames),
               frames, {.depth = 32, .turn = 8, .buffers = 64});
  CHECK(all.run() == "");
  CHECK(all.fault(65536) == "");
  for (const auto& q : all.nic().statistics(0).queues) {
    CHECK(q.delivered > frames / 5);
    CHECK(q.delivered < frames * 3 / 10);
  }
}

TEST_CASE("kernels send by several rings of a port, and what comes back is spread anew") {
  constexpr std::uint32_t none = gnstor::host::packet_flow_options::no_port;
  constexpr std::uint32_t queues = 3;
  constexpr std::uint64_t frames = 300;  // of each ring
  for (const char* runner : {"cpu", "sim", "gpu"}) {
    CAPTURE(runner);
    gnstor::host::nic nic(
        fmt::format("emu-nic:?ports=1&loopback=0&frames=0&queues={}&runner={}", queues, runner));
    std::deque<gnstor::host::packet_flow> in;
    std::deque<gnstor::host::packet_flow> out;
    std::vector<numbered_counts> counts(queues * queues);
    std::vector<std::uint64_t> highest(queues * queues * few.depth);
    simt::host::executor machine;
    for (std::uint32_t q = 0; q < queues; ++q) {
      gnstor::host::packet_flow_options o = few;
      o.receive_queue = o.send_queue = q;
      o.receive_port = 0;
      o.send_port = none;
      in.emplace_back(nic, o).spawn(
          machine, numbered_sink{8, &counts[q * queues], 0, &highest[q * queues * few.depth],
                                 static_cast<std::uint16_t>(queues)});
      o.receive_port = none;
      o.send_port = 0;
      o.applications = 0;
      out.emplace_back(nic, o).spawn_source(
          machine, numbered_source{.stream = static_cast<std::uint16_t>(8 + q)}, frames);
    }
    nic.attach(machine);
    std::thread stopper([&in] {
      const auto received = [&in] {
        std::uint64_t sum = 0;
        for (const auto& f : in) sum += f.count(packet_cause::received);
        return sum;
      };
      for (int k = 0; k < 3000 && received() < queues * frames; ++k)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      for (auto& f : in) f.stop();
    });
    machine.run();
    stopper.join();
    nic.check();
    for (std::uint32_t s = 0; s < queues; ++s) {
      CAPTURE(s);
      numbered_counts all{};
      for (std::uint32_t q = 0; q < queues; ++q) {
        CHECK(counts[q * queues + s].sound > frames / 10);
        all.add(counts[q * queues + s]);
      }
      CHECK(all.next == frames);
      CHECK(all.is_complete());
      CHECK(all.unsound + all.foreign + all.reordered == 0);
      CHECK(nic.statistics(0).queues[s].sent == frames);
      CHECK(nic.statistics(0).queues[s].delivered == in[s].count(packet_cause::received));
    }
  }
}

TEST_CASE("a flow that stops leaves the other rings of its ports alone") {
  for (const char* runner : {"cpu", "sim", "gpu"}) {
    CAPTURE(runner);
    const std::uint64_t frames = under_tsan || std::string(runner) == "gpu" ? 4000 : 40'000;
    gnstor::host::packet_flow_options shape = few;
    shape.drain = std::chrono::seconds(2);
    ring_rig rig(
        fmt::format("emu-nic:?queues=3&flows=100&frames={}&size=60&runner={}", frames, runner),
        frames, shape);
    CHECK(rig.run({}, 1) == "");
    CHECK(fault_beside_stopped(rig, frames, 100) == "");
  }
}

TEST_CASE("seeded: also where rings stop and go on in any order") {
  for (const char* runner : {"sim", "gpu"}) {
    CAPTURE(runner);
    const std::uint64_t share = std::string(runner) == "gpu" ? 5 : 20;
    sweep(simt::host::mode::seeded, share, [runner](simt::host::options chosen) -> std::string {
      chosen.step_budget = 200'000'000;
      ring_rig rig(fmt::format("emu-nic:?queues=3&flows=30&frames=400&size=60&runner={}&late=300&"
                               "seed={}",
                               runner, chosen.seed),
                   400);
      const std::string what = rig.run(chosen, 1);
      return what.empty() ? fault_beside_stopped(rig, 400, 30) : what;
    });
  }
}

TEST_CASE("a ring without descriptors holds up the others, unless frames are dropped") {
  constexpr std::uint64_t frames = 20'000;
  const auto ring_of = [](std::uint64_t n) { return reference_hash_of(0, n, 20) % 128 % 2; };
  const std::uint32_t busy = ring_of(0);  // the kernels of the other one do not run
  std::uint64_t of_ring[2] = {};
  std::uint64_t first = 0;  // for the other one
  for (std::uint64_t n = 0; n < frames; ++n) {
    if (++of_ring[ring_of(n)] == 1 && ring_of(n) != busy) first = n;
  }
  REQUIRE(first > 0);
  for (const std::string full : {"drop", "wait"}) {
    CAPTURE(full);
    gnstor::host::nic nic("emu-nic:?queues=2&flows=20&frames=20000&full=" + full +
                          "&runner=" + (full == "drop" ? "sim" : "cpu"));
    std::vector<sighting> seen(frames);
    gnstor::host::packet_flow_options o = few;
    o.receive_queue = o.send_queue = busy;
    gnstor::host::packet_flow runs(nic, o);
    o.receive_queue = o.send_queue = 1 - busy;
    const gnstor::host::packet_flow rests(nic, o);
    simt::host::executor machine;
    runs.spawn(machine, note_ring{0, seen.data()});
    nic.attach(machine);
    std::thread stopper([&] {
      if (full == "drop") return;  // it ends with the generator's frames
      const auto delivered = [&nic] { return nic.statistics(0).delivered; };
      for (int k = 0; k < 2000 && delivered() < first; ++k)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      CHECK(delivered() == first);
      runs.stop();
    });
    machine.run();
    stopper.join();
    const auto in = nic.statistics(0).queues;
    CHECK(in[1 - busy].delivered == 0);
    CHECK(runs.count(packet_cause::received) == in[busy].delivered);
    if (full == "wait") continue;
    CHECK(in[1 - busy].missed == of_ring[1 - busy]);
    CHECK(in[busy].delivered + in[busy].missed == of_ring[busy]);
    CHECK(in[busy].delivered > 0);
  }
}

TEST_CASE("a port of several rings begins when all are open, so that it misses nothing") {
  constexpr std::uint64_t frames = 100;
  gnstor::host::nic nic("emu-nic:?queues=2&flows=50&frames=100&runner=cpu");
  std::vector<sighting> seen(frames);
  std::uint64_t missed = 0;  // while the first ones are closed, one after another
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    std::deque<gnstor::host::packet_flow> flows;
    simt::host::executor machine;
    const std::uint64_t at = nic.statistics(0).made;
    const std::uint32_t first = reference_hash_of(0, at, 50) % 128 % 2;
    for (const std::uint32_t q : {1 - first, first}) {  // that of the next frame last
      gnstor::host::packet_flow_options o = few;
      o.receive_queue = o.send_queue = q;
      flows.emplace_back(nic, o).spawn(machine,
                                       note_ring{static_cast<std::uint8_t>(q), seen.data()});
      for (int k = 0; flows.size() == 1 && k < 40; ++k) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        REQUIRE(nic.statistics(0).made == at);
      }
    }
    nic.attach(machine);
    if (round == 1) machine.run();
    flows.clear();
    if (round == 0) missed = nic.statistics(0).missed;
  }
  nic.check();
  CHECK(missed < frames);
  CHECK(nic.statistics(0).made == frames);
  CHECK(nic.statistics(0).missed == missed);
  CHECK(nic.statistics(0).delivered == frames - missed);
}

TEST_CASE("a ring pair that cannot be says why") {
  gnstor::host::nic nic("emu-nic:?queues=2&frames=0");
  using shape = gnstor::host::packet_flow_options;
  const auto make = [&nic](const shape& o) {
    return thrown([&] { gnstor::host::packet_flow flow(nic, o); });
  };
  const shape first{.depth = 8, .turn = 4, .buffers = 16, .receive_queue = 1, .send_queue = 1};
  CHECK(nic.queues() == 2);
  CHECK(make(first) == "");
  shape other = first;
  other.receive_queue = 2;
  CHECK(make(other) ==
        "port 0, queue 2: its ports have 2 ring pairs, which are counted from 0: queues=3 would "
        "add it");
  other = first;
  other.send_queue = 16;
  CHECK(make(other).find("port 1, queue 16: its ports have 2 ring pairs") == 0);
  gnstor::host::packet_flow taken(nic, first);
  CHECK(make(first) == "port 1, queue 1 sends for another flow: use another queue");
  other = first;
  other.send_queue = 0;
  CHECK(make(other) == "port 0, queue 1 receives for another flow: use another queue");
  simt::host::executor machine;
  CHECK(thrown([&] { nic.attach(machine); }) ==
        "port 0 has 2 receive queues, and flows for 1 of them: nothing comes before all are open; "
        "open the others too, or use queues=1");
  // Rings of a port may be of several lengths.
  gnstor::host::packet_flow longer(nic, {.depth = 64, .turn = 16, .buffers = 64});
  CHECK(thrown([&] { nic.attach(machine); }) == "");
  gnstor::host::nic usual("emu-nic:?frames=0");
  CHECK(thrown([&] {
          gnstor::host::packet_flow flow(usual, first);
        }).find("port 1, queue 1: its ports have 1 ring pair, which") == 0);
}

TEST_CASE("an endpoint has as many ring pairs and flows as its controller may have") {
  const auto parse = [](const char* text) {
    return thrown([text] { gnstor::host::nic_endpoint::parse(text); });
  };
  CHECK(parse("emu-nic:?queues=16&flows=65536") == "");
  CHECK(parse("emu-nic:?queues=17").find("a number from 1 to 16") != std::string::npos);
  CHECK(parse("emu-nic:?flows=0").find("a number from 1 to 65536") != std::string::npos);
  CHECK(parse("emu-nic:?model=82574") == "");
  CHECK(parse("emu-nic:?model=82574&queues=2").find("RCTL and TCTL enable all of its rings") !=
        std::string::npos);
  CHECK(parse("pcap:x?queues=2&model=82574").find("use model=82599, or queues=1") !=
        std::string::npos);
  CHECK(gnstor::host::nic_endpoint::parse("emu-nic:?queues=4").flows == 1024);
  CHECK(gnstor::host::nic_endpoint::parse("emu-nic:").flows == 0);
}

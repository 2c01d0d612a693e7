/// Packets that kernels make: all of them leave, once and in order, and a sink knows them again.

#include "packet_rig.hpp"
#include "thrown.hpp"
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/packet/numbered_sink.hpp>
#include <gnstor/packet/numbered_source.hpp>
#include <gnstor/simt/clock.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint16_t stream = 8;

/// A numbered source that leaves places empty.
struct gaps {
  numbered_source frames{.stream = stream};
  std::uint32_t each = 3;  ///< of so many places one has a frame
  std::uint64_t first = 0;
  template <class Lane>
  GNSTOR_HD bool make(Lane& lane, packet p, std::uint64_t position) const {
    if (position < first || position % each != 0) return false;
    return frames.make(lane, p, position / each);
  }
};

/// A source without frames, that looks how far it runs ahead of who sends.
struct idle_source {
  packet_control* control;
  std::uint64_t buffers;
  std::uint64_t* asked;
  template <class Lane>
  GNSTOR_HD bool make(Lane&, packet, std::uint64_t position) const {
    const atomic_ref<std::uint64_t, packet_pool::scope> taken(control->send_taken);
    const auto sent = send_place::unpack(taken.load(relaxed));
    GNSTOR_VERIFY(position < sent.position + buffers + 8);
    atomic_ref<std::uint64_t, packet_pool::scope>(*asked).fetch_add(1, relaxed);
    if (position > 4000) system_word<std::uint32_t>(*control->stop).store(1, relaxed);
    return false;
  }
};

struct drop_odd {
  std::uint64_t seen = 0;
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet) {
    return ++seen % 2 == 0 ? packet_verdict::forward : packet_verdict::drop;
  }
};

packet_rig_shape silent() {
  packet_rig_shape shape;
  shape.frames = 0;
  return shape;
}

/// What is wrong where `n` frames of the stream were to leave; nothing if all is well.
template <class Rig>
std::string fault_of_made(Rig& rig, std::uint64_t n) {
  const std::string general = rig.fault_but_for_the_rest();
  if (!general.empty()) return general;
  const fw::frame_sink& s = rig.port(1).sinks.of[stream];
  if (s.count != n) return std::to_string(s.count) + " of " + std::to_string(n) + " left";
  if (n != 0 && s.next != n) return "other numbers left";
  return s.reordered != 0 ? "frames left in another order" : "";
}

}  // namespace

TEST_CASE("seeded and weak: what a source makes leaves once and in order") {
  for (const simt::host::mode mode :
       {simt::host::mode::fast, simt::host::mode::seeded, simt::host::mode::weak}) {
    sweep(mode, 60, [](simt::host::options chosen) {
      packet_rig_shape shape = silent();
      shape.faults = {.seed = chosen.seed, .late = 300};
      packet_rig rig(shape);
      const std::string what =
          rig.run_source(chosen, numbered_source{.stream = stream}, 45, forward_all{});
      return what.empty() ? fault_of_made(rig, 45) : what;
    });
  }
}

TEST_CASE("seeded: places that stay empty hold nobody up, at the begin, between and at the end") {
  sweep(simt::host::mode::seeded, 60, [](simt::host::options chosen) -> std::string {
    packet_rig rig(silent());
    const std::uint32_t each = 2 + chosen.seed % 5;
    const std::string what = rig.run_source(chosen, gaps{.each = each}, 90, forward_all{});
    if (!what.empty()) return what;
    if (rig.count(packet_cause::made) != (90 + each - 1) / each) return "another number was made";
    return fault_of_made(rig, (90 + each - 1) / each);
  });
  packet_rig rig(silent());
  CHECK(rig.run_source({}, gaps{.each = 1, .first = 100}, 100, forward_all{}) == "");
  CHECK(fault_of_made(rig, 0) == "");
}

TEST_CASE("a source without frames does not run away from who sends") {
  packet_rig_shape shape = silent();
  packet_rig rig(shape);
  std::uint64_t asked = 0;
  CHECK(rig.run_source({}, idle_source{&rig.control(), shape.pool.buffers, &asked}, ~0ull,
                       forward_all{}) == "");
  CHECK(asked > 4000);
  CHECK(fault_of_made(rig, 0) == "");
}

TEST_CASE("seeded: an application behind a source drops, and a stop loses nothing that was made") {
  sweep(simt::host::mode::seeded, 40, [](simt::host::options chosen) -> std::string {
    packet_rig rig(silent());
    const std::string what =
        rig.run_source(chosen, numbered_source{.stream = stream}, 64, drop_odd{});
    if (!what.empty()) return what;
    const std::string general = rig.fault_but_for_the_rest();
    if (!general.empty()) return general;
    return rig.port(1).sinks.of[stream].count == 32 ? "" : "another number left";
  });
  sweep(simt::host::mode::seeded, 40, [](simt::host::options chosen) -> std::string {
    packet_rig rig(silent());
    const std::string what = rig.run_source(
        chosen, gaps{.each = 1}, ~0ull, forward_all{}, [&rig, &chosen](simt::host::executor& m) {
          m.spawn(1, 1, [&rig, n = 20 + chosen.seed % 100](auto&) {
            for (bounded rounds{~std::uint64_t{0}}; rounds && rig.count(packet_cause::made) < n;)
              simt::pause(1);
            system_word<std::uint32_t>(*rig.control().stop).store(1, relaxed);
          });
        });
    if (!what.empty()) return what;
    return fault_of_made(rig, rig.count(packet_cause::made));
  });
}

TEST_CASE("a sink knows the frames of a source that a wire brings back, and counts what is wrong") {
  for (const char* where :
       {"emu-nic:?loopback=1&frames=0", "emu-nic:?loopback=1&frames=0&runner=cpu",
        "emu-nic:?loopback=1&frames=0&runner=gpu", "emu-nic:?loopback=1&frames=0&model=82574"}) {
    CAPTURE(where);
    constexpr std::uint64_t frames = 3000;
    gnstor::host::nic nic(where);
    constexpr std::uint32_t none = gnstor::host::packet_flow_options::no_port;
    gnstor::host::packet_flow out(nic, {none, 1, 64, 16, 256, 2048, 0});
    gnstor::host::packet_flow in(nic, {1, none, 64, 16, 256});
    numbered_counts counts{};
    simt::host::executor machine;
    out.spawn_source(machine, numbered_source{.stream = stream, .bytes = 200}, frames);
    in.spawn(machine, numbered_sink{stream, &counts});
    nic.attach(machine);
    std::thread stopper([&] {
      const auto seen = [&counts] {
        return system_word<std::uint64_t>(counts.sound).load(relaxed);
      };
      for (until wait{simt::within(30'000'000'000)}; wait && seen() < frames;)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      in.stop();
    });
    machine.run();
    stopper.join();
    nic.check();
    CHECK(counts.is_complete());
    CHECK(counts.next == frames);
    CHECK(counts.missing() + counts.unsound + counts.foreign + counts.reordered == 0);
    CHECK(out.count(packet_cause::made) == frames);
    CHECK(out.count(packet_cause::sent) == frames);
    CHECK(in.count(packet_cause::received) == frames);
    CHECK(in.count(packet_cause::dropped) == frames);
  }
}

TEST_CASE("a sink tells frames apart: unsound, foreign, missing and reordered ones") {
  numbered_counts c{};
  numbered_sink sink{stream, &c};
  packet_pool_shape shape{.lanes = 1, .buffers = 1};
  std::vector<unsigned char> data(shape.data_bytes() + 128);
  packet_state state{};
  const packet_pool pool(shape, &state, data.data(), 0);
  packet_counters counters{};
  simt::lane<> lane;
  const packet p(pool, 0, packet_owner::free, packet_owner::free, counters);
  const auto give = [&](std::uint64_t number, std::uint16_t its, std::uint32_t spoiled) {
    CHECK(numbered_source{.stream = its, .bytes = 100}.make(lane, p, number));
    if (spoiled != 0) p.data()[spoiled] ^= 1;
    CHECK(sink.receive(lane, p) == packet_verdict::drop);
  };
  give(0, stream, 0);
  give(2, stream, 0);
  CHECK(c.missing() == 1);
  CHECK_FALSE(c.is_complete());
  give(1, stream, 0);
  CHECK(c.is_complete());
  CHECK(c.reordered == 1);
  give(3, stream, 99);
  give(3, stream, 26);
  CHECK(c.unsound == 2);
  give(3, 9, 0);
  give(3, stream, 45);
  CHECK(c.foreign == 2);
  give(4, stream, 0);
  give(4, stream, 0);  // a duplicate makes up for a missing one, in number alone
  CHECK(c.sound == c.next);
  CHECK_FALSE(c.is_complete());
}

TEST_CASE("seeded: a frame's way through kernels is timed, by its own number") {
  sweep(simt::host::mode::seeded, 10, [](simt::host::options chosen) -> std::string {
    packet_rig_shape shape;
    shape.frames = 100;
    const auto transits = std::make_unique<fw::frame_transits>();
    packet_rig rig(shape);
    rig.measure(*transits);
    const std::uint64_t start = simt::now_ns();
    const std::string what = rig.run(chosen, forward_all{});
    if (!what.empty()) return what;
    if (transits->took[0].total() != 100) return "another number was timed";
    const std::uint64_t most = transits->took[0].percentile(1);
    return most != 0 && most <= (simt::now_ns() - start) * 17 / 16 ? "" : "a time cannot be";
  });
}

TEST_CASE("a time in whose place another frame began is not taken for its own") {
  const auto t = std::make_unique<fw::frame_transits>();
  constexpr std::uint64_t ms = 1'000'000;
  t->begins(0, 5, 10 * ms);
  t->begins(0, 5 + t->places, 20 * ms);
  t->ends(0, 5, 30 * ms);
  CHECK(t->took[0].total() == 0);
  t->ends(0, 5 + t->places, 30 * ms);
  CHECK(t->took[0].total() == 1);
  CHECK(t->took[0].percentile(1) >= 10 * ms);
  CHECK(t->took[0].percentile(1) < 11 * ms);
  t->begins(1, 7, ~std::uint64_t{0} - 5);  // 48 bits of nanoseconds wrap
  t->ends(1, 7, 1000);
  CHECK(t->took[1].percentile(1) >= 1005);
  CHECK(t->took[1].percentile(1) < 1100);
}

TEST_CASE("a flow without a port says which kernels it wants") {
  gnstor::host::nic nic("emu-nic:?frames=0");
  constexpr std::uint32_t none = gnstor::host::packet_flow_options::no_port;
  simt::host::executor machine;
  gnstor::host::packet_flow out(nic, {none, 1, 64, 16, 256, 2048, 0});
  CHECK(thrown([&] { out.spawn(machine); }).find("use spawn_source") != std::string::npos);
  gnstor::host::packet_flow in(nic, {0, none, 64, 16, 256});
  CHECK(thrown([&] {
          in.spawn_source(machine, numbered_source{}, 1, drop_odd{});
        }).find("use spawn") != std::string::npos);
  CHECK(thrown([&] {
          gnstor::host::packet_flow(nic, {none, none, 64, 16, 256, 2048, 0});
        }).find("nothing would be done") != std::string::npos);
}

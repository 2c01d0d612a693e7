/// What applications may do with packets, in chains and for later.

#include "packet_rig.hpp"
#include <gnstor/wire/ethernet/ipv4_header.hpp>

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Drops every third packet of its lane.
struct drop_some {
  std::uint32_t seen = 0;
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet) {
    return ++seen % 3 == 0 ? packet_verdict::drop : packet_verdict::forward;
  }
};

/// Keeps each packet until the next one comes, and sends it then.
struct one_later {
  packet kept{};
  bool has_kept = false;
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) {
    if (has_kept) kept.forward();
    kept = p;
    has_kept = true;
    return packet_verdict::hold;
  }
};

/// Says two things of one packet.
struct two_hands {
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) {
    p.drop();
    return packet_verdict::forward;
  }
};

/// Counts down the time to live, as a router does.
struct count_down {
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) {
    auto* ip = p.header<wire::ethernet::ipv4_header>(14);
    if (ip == nullptr || ip->time_to_live <= 1) return packet_verdict::drop;
    --ip->time_to_live;
    ip->checksum = 0;
    ip->checksum = wire::ethernet::internet_checksum().add_bytes(p.data() + 14, 20).value();
    return packet_verdict::forward;
  }
};

/// Takes the frame into its headroom and back, and asks for more room than there is.
struct use_room {
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) {
    unsigned char* const before = p.data();
    const std::uint32_t bytes = p.length();
    const bool right = !p.grow_front(66) && p.grow_front(64) && p.data() == before - 64 &&
                       p.length() == bytes + 64 && p.grow_front(-64) && p.data() == before &&
                       !p.grow_front(-static_cast<std::int32_t>(bytes) - 2) &&
                       !p.resize(2048 + 66) && p.resize(2048 + 64) && p.resize(bytes) &&
                       p.length() == bytes &&
                       p.header<wire::ethernet::ipv4_header>(bytes - 18) == nullptr;
    return right ? packet_verdict::forward : packet_verdict::drop;
  }
};

/// Leaves nothing, or next to nothing, of every second packet of its lane.
struct shorten {
  std::uint32_t seen = 0;
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) {
    if (++seen % 2 == 0 && !p.resize(seen % 4 == 0 ? 0 : 16)) return packet_verdict::drop;
    return packet_verdict::forward;
  }
};

template <class App>
std::string run(packet_rig& rig, simt::host::options chosen = {}) {
  const std::string thrown = rig.run(chosen, App{});
  return thrown.empty() ? rig.fault() : thrown;
}

}  // namespace

TEST_CASE("dropped packets go home, and the others are sent in order") {
  sweep(simt::host::mode::seeded, 40, [](simt::host::options chosen) -> std::string {
    packet_rig_shape shape;
    shape.settle_ns = 100'000;
    packet_rig rig(shape);
    const std::string fault = run<drop_some>(rig, chosen);
    if (!fault.empty()) return fault;
    // Of 40 frames each of eight lanes had five.
    if (rig.count(packet_cause::dropped) != 8) return "another number was dropped";
    if (rig.count(packet_cause::sent) != 32) return "another number was sent";
    return rig.port(1).sinks.of[0].reordered == 0 ? "" : "in another order";
  });
}

TEST_CASE("a packet that is held is sent when its application says so, or goes home at the end") {
  sweep(simt::host::mode::weak, 40, [](simt::host::options chosen) -> std::string {
    packet_rig_shape shape;
    shape.pool.buffers = 24;
    shape.settle_ns = 100'000;
    packet_rig rig(shape);
    const std::string fault = run<one_later>(rig, chosen);
    if (!fault.empty()) return fault;
    if (rig.count(packet_cause::held_back) != 8) return "another number was held back";
    return rig.count(packet_cause::sent) == 32 ? "" : "another number was sent";
  });
}

TEST_CASE("a chain of applications has each packet one after another") {
  sweep(simt::host::mode::weak, 40, [](simt::host::options chosen) {
    packet_rig_shape shape;
    shape.applications = 3;
    packet_rig rig(shape);
    const std::string fault = run<count_down>(rig, chosen);
    return fault.empty() ? rig.fault_of_forwarding() : fault;
  });
}

TEST_CASE("what no NIC can send goes home and is counted, and the others are sent in order") {
  sweep(simt::host::mode::seeded, 40, [](simt::host::options chosen) -> std::string {
    packet_rig_shape shape;
    shape.frames = 64;
    shape.settle_ns = 100'000;
    packet_rig rig(shape);
    const std::string fault = run<shorten>(rig, chosen);
    if (!fault.empty()) return fault;
    if (rig.count(packet_cause::unsendable) != 32) return "another number was given up";
    return rig.port(1).sinks.of[0].reordered == 0 ? "" : "in another order";
  });
}

TEST_CASE("without an application the receive kernel hands to the transmit kernel") {
  packet_rig_shape shape;
  shape.applications = 0;
  shape.frames = 500;
  packet_rig rig(shape);
  CHECK(run<forward_all>(rig) == "");
  CHECK(rig.fault_of_forwarding() == "");
}

TEST_CASE("a packet of which two things are said is noticed at once") {
  packet_rig rig(packet_rig_shape{});
  CHECK(run<two_hands>(rig).find("owner.load(relaxed) == from") != std::string::npos);
}

TEST_CASE("a packet has 64 bytes before and behind it, and no more") {
  packet_rig_shape shape;
  shape.frame_bytes = 0;
  packet_rig rig(shape);
  CHECK(run<use_room>(rig) == "");
  CHECK(rig.fault_of_forwarding() == "");
}

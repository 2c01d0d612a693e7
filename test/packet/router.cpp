/// A router's kernels, against what a reference does with the same frames byte by byte.

#include "reference_router.hpp"
#include "scripted_wire.hpp"
#include <gnstor/host/route_table.hpp>
#include <gnstor/packet/ipv4_router.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using way = reference_route::kind;

/// Lengths on both sides of /24, one in another, each way that a route can be.
const std::vector<reference_route>& lines() {
  static const std::vector<reference_route> all = {
      {0x0b000000, 8, way::reachable, 1},   {0x0b010000, 16, way::reachable, 2},
      {0x0b010200, 24, way::reachable, 3},  {0x0b010280, 25, way::reachable, 4},
      {0x0b0102c0, 26, way::unresolved, 9}, {0x0b0102ff, 32, way::reachable, 5},
      {0x0b0103fe, 31, way::reachable, 6},  {0x14000000, 6, way::unreachable},
      {0x14010000, 16, way::prohibited},    {0x14020000, 16, way::blackhole},
      {0x14020000, 30, way::reachable, 7},  {0x1e000000, 7, way::unresolved, 8},
      {0x1e010101, 32, way::blackhole},     {0xdfffff00, 24, way::reachable, 1},
      {0x0a400000, 24, way::reachable, 2},
  };
  return all;
}

/// The same as the library has them.
const gnstor::host::route_table& table() {
  static const gnstor::host::route_table made = [] {
    gnstor::host::route_list routes;
    gnstor::host::neighbour_list neighbours;
    for (const reference_route& r : lines()) {
      using kind = gnstor::host::route::kind;
      constexpr kind kinds[] = {kind::via, kind::via, kind::unreachable, kind::prohibited,
                                kind::blackhole};
      const std::uint32_t gateway = 0x0a400100u + r.hop;
      routes.add({.prefix = r.prefix,
                  .length = static_cast<std::uint8_t>(r.length),
                  .what = kinds[static_cast<int>(r.what)],
                  .gateway = gateway});
      if (r.what == way::reachable) neighbours.add({gateway, {{0x02, 0, 0, 0, 0, r.hop}}});
    }
    return gnstor::host::route_table(gnstor::host::nic("emu-nic:?frames=0"), routes, neighbours);
  }();
  return made;
}

ipv4_router router_as(const reference_router& like) {
  ipv4_router r;
  r.table = table().ref();
  r.mac = {{0x02, 0x47, 0x4e, 0x53, 0x00, 0x01}};
  r.address = reference_router::address;
  r.is_one_armed = like.is_one_armed;
  r.mtu = static_cast<std::uint16_t>(like.mtu);
  r.error_interval_us = 0;
  return r;
}

/// Makes frames for a router.
class traffic {
 public:
  explicit traffic(std::uint64_t seed) : peer_(seed) {}

  /// Some of it as a router wants it, some of it with a byte or a length that it does not.
  frame_bytes any() {
    frame_bytes f = draw(4) == 0 ? peer_.sound() : through();
    if (draw(3) == 0) spoil(f);
    return f;
  }
  /// A packet that is to be forwarded, or not for what its address, length or time to live says.
  frame_bytes through(std::uint32_t most = 1473) {
    frame_bytes f = draw(2) == 0 ? peer_.ping(draw(most)) : peer_.datagram(draw(most), true);
    if (f[23] == 1 && draw(3) == 0) f[34] = static_cast<unsigned char>(draw(20));
    const reference_route& near = lines()[draw(static_cast<std::uint32_t>(lines().size()))];
    const std::uint32_t host = near.length == 0 ? ~0u : draw(~0u) >> near.length % 32;
    put32(f, 30, near.prefix ^ (draw(8) == 0 ? 1u << draw(32) : near.length == 32 ? 0 : host));
    f[15] = static_cast<unsigned char>(draw(256));
    if (draw(4) == 0) f[22] = static_cast<unsigned char>(draw(3));
    if (draw(8) == 0)
      f[20] = static_cast<unsigned char>(draw(8) << 5), f[21] = draw(2) == 0 ? 0 : 3;
    reference_host::sign(f);
    return f;
  }
  std::uint32_t draw(std::uint32_t below) { return peer_.draw(below); }

 private:
  void spoil(frame_bytes& f) {
    switch (draw(6)) {
      case 0: return reference_host::cut(f, 1 + draw(static_cast<std::uint32_t>(f.size())));
      case 1: f[draw(34)] ^= static_cast<unsigned char>(1 + draw(255)); return;
      case 2: return put_and_sign(f, 26, draw(2) == 0 ? draw(256) : 224 + draw(32));
      case 3: return put_and_sign(f, 30, draw(2) == 0 ? 127 * draw(2) : 224 + draw(32));
      case 4: return put_and_sign(f, 14, 0x40 + draw(16));
      default: return put_and_sign(f, 17, draw(256));
    }
  }
  static void put_and_sign(frame_bytes& f, std::size_t at, std::uint32_t byte) {
    f[at] = static_cast<unsigned char>(byte);
    if (f[13] == 0 && f.size() >= 14 + (f[14] & 15u) * 4) reference_host::sign(f);
  }
  static void put32(frame_bytes& f, std::size_t at, std::uint32_t value) {
    reference_host::put16(f, at, static_cast<std::uint16_t>(value >> 16));
    reference_host::put16(f, at + 2, static_cast<std::uint16_t>(value));
  }

  reference_host peer_;
};

constexpr packet_cause causes[] = {
    packet_cause::malformed,  packet_cause::wrong_checksum, packet_cause::unsupported,
    packet_cause::not_for_us, packet_cause::martian,        packet_cause::no_route,
    packet_cause::hop_limit,  packet_cause::no_neighbour,   packet_cause::too_big};

/// Gives frames to a router and to the reference. How they differ, or nothing.
/// @tparam Model of the NIC
template <class Model>
std::string compare(simt::host::options chosen, const reference_router& reference,
                    std::vector<frame_bytes> frames, packet_rig_shape shape = {}) {
  shape.send_port = reference.is_one_armed ? 0 : 1;
  shape.frames = 0;
  std::vector<frame_bytes> expected;
  std::uint64_t counts[static_cast<std::size_t>(packet_cause::count)] = {};
  const auto counted = [&counts](packet_cause c) -> std::uint64_t& {
    return counts[static_cast<std::size_t>(c)];
  };
  for (const frame_bytes& f : frames) {
    const reference_router::outcome o = reference.handle(f);
    if (o.goes) expected.push_back(o.frame);
    if (o.goes && o.why != packet_cause::received) ++counted(packet_cause::icmp_errors);
    if (o.why != packet_cause::received) ++counted(o.why);
  }
  scripted_line wires[2];
  wires[0].coming = std::move(frames);
  rig_of<Model> rig(shape);
  const std::string fault = run_script(rig, chosen, router_as(reference), wires);
  if (!fault.empty()) return fault;
  const std::string other = difference(wires[shape.send_port].gone, expected);
  if (!other.empty()) return other;
  std::uint64_t why = 0;
  for (const packet_cause c : causes) {
    why += rig.count(c);
    if (rig.count(c) != counted(c)) {
      return "cause " + std::to_string(static_cast<int>(c)) + " is counted " +
             std::to_string(rig.count(c)) + " times, not " + std::to_string(counted(c));
    }
  }
  if (rig.count(packet_cause::icmp_errors) != counted(packet_cause::icmp_errors))
    return "another number of ICMP errors is counted";
  return why == rig.count(packet_cause::dropped) + rig.count(packet_cause::icmp_errors)
             ? ""
             : "the causes are not what was dropped";
}

constexpr std::uint32_t changing = 0x0a400105;  ///< a gateway
constexpr wire::ethernet::mac_address hardware[] = {{{0x12, 0x11, 0x11, 0x11, 0x11, 0x11}},
                                                    {{0x22, 0x22, 0x22, 0x22, 0x22, 0x22}}};

/// Gives a gateway one hardware address, another one, and none.
struct change_neighbour {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, gnstor::host::route_table* table) const {
    for (int k = 0; k < 60; ++k) {
      if (k % 3 == 2) {
        table->forget_neighbour(changing);
      } else {
        table->set_neighbour({changing, hardware[k % 3]});
      }
    }
    table->set_neighbour({changing, hardware[0]});
  }
};

/// Routes while somebody changes the next hop. What is wrong with where frames went, or nothing.
/// @param seen how often each hardware address was, and none
std::string route_and_change(simt::host::options chosen, std::uint64_t (&seen)[3]) {
  static gnstor::host::route_table table = [] {
    gnstor::host::route_list routes;
    routes.add({.gateway = changing});
    return gnstor::host::route_table(gnstor::host::nic("emu-nic:?frames=0"), routes);
  }();
  table.set_neighbour({changing, hardware[1]});
  scripted_line wires[2];
  wires[0].coming.assign(40, reference_host(1).datagram(20, true));
  for (frame_bytes& f : wires[0].coming) f[30] = 99, f[22] = 9, reference_host::sign(f);
  packet_rig_shape shape;
  shape.frames = 0;
  packet_rig rig(shape);
  ipv4_router app = router_as({});
  app.table = table.ref();
  app.is_one_armed = false;
  const std::string fault = run_script(rig, chosen, app, wires, [](auto& machine) {
    machine.spawn_in(simt::domain::cpu, 1, 1, change_neighbour{}, &table);
  });
  if (!fault.empty()) return fault;
  for (const frame_bytes& f : wires[1].gone) {
    const bool first = std::equal(f.begin(), f.begin() + 6, hardware[0].byte);
    if (!first && !std::equal(f.begin(), f.begin() + 6, hardware[1].byte))
      return "a frame went to half of one address and half of the other";
    ++seen[first ? 0 : 1];
  }
  seen[2] += rig.count(packet_cause::no_neighbour);
  return wires[1].gone.size() + rig.count(packet_cause::no_neighbour) == 40
             ? ""
             : "not each frame went or was counted";
}

template <class Model = fw::nic_82599>
std::string route(simt::host::options chosen, int count, bool is_one_armed = true) {
  traffic t(chosen.seed);
  std::vector<frame_bytes> frames;
  for (int k = 0; k < count; ++k) frames.push_back(t.any());
  reference_router reference;
  reference.routes = lines();
  reference.is_one_armed = is_one_armed;
  reference.mtu = t.draw(2) == 0 ? 1500 : 576;
  return compare<Model>(chosen, reference, std::move(frames));
}

}  // namespace

TEST_CASE("a router forwards, answers, sends errors and counts as the reference does") {
  for (std::uint64_t seed = 1; seed <= (under_tsan ? 2u : 6u); ++seed) {
    CAPTURE(seed);
    simt::host::options chosen;
    chosen.seed = seed;
    CHECK(route(chosen, under_tsan ? 200 : 2000) == "");
    CHECK(route<fw::nic_82574>(chosen, under_tsan ? 200 : 2000, false) == "");
  }
}

TEST_CASE("seeded: every schedule routes the same frames in the same order") {
  sweep(simt::host::mode::seeded, 60,
        [](simt::host::options o) { return route(o, 40, o.seed % 2 == 0); });
}

TEST_CASE("weak: no load of an older word changes where a packet goes") {
  sweep(simt::host::mode::weak, 60,
        [](simt::host::options o) { return route<fw::nic_82574>(o, 40); });
}

TEST_CASE("frames of 1 to 17000 bytes are routed or counted, and nothing else happens") {
  packet_rig_shape shape;
  shape.pool.bytes = 17408;
  shape.max_frame_bytes = 17000;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    traffic t(seed);
    std::vector<frame_bytes> frames;
    for (int k = 0; k < 100; ++k) {
      frame_bytes f = t.through(16900);
      if (t.draw(4) == 0) f.resize(1 + t.draw(17000));
      frames.push_back(std::move(f));
    }
    reference_router reference;
    reference.routes = lines();
    reference.mtu = t.draw(2) == 0 ? 16986 : 1500;
    simt::host::options chosen;
    chosen.seed = seed;
    CHECK(compare<fw::nic_82599>(chosen, reference, std::move(frames), shape) == "");
  }
}

TEST_CASE("a next hop changes under kernels, and each packet sees one or the other") {
  std::uint64_t seen[3] = {};
  for (const simt::host::mode mode : {simt::host::mode::seeded, simt::host::mode::weak})
    sweep(mode, 40, [&seen](simt::host::options o) { return route_and_change(o, seen); });
  for (const std::uint64_t times : seen) CHECK(times > 0);
}

TEST_CASE("a router without an address answers nothing and sends no error") {
  traffic t(5);
  scripted_line wires[2];
  for (int k = 0; k < 50; ++k) wires[0].coming.push_back(t.through());
  reference_router reference;
  reference.routes = lines();
  ipv4_router app = router_as(reference);
  app.address = 0;
  packet_rig_shape shape;
  shape.send_port = 0;
  shape.frames = 0;
  packet_rig rig(shape);
  CHECK(run_script(rig, {}, app, wires) == "");
  CHECK(rig.count(packet_cause::icmp_errors) == 0);
  for (const frame_bytes& f : wires[0].gone) CHECK(f[11] == 1);
}

TEST_CASE("a lane that has sent an ICMP error sends none for a while") {
  traffic t(6);
  scripted_line wires[2];
  for (int k = 0; k < 80; ++k) {
    frame_bytes f = reference_host(9).datagram(20, true);
    f[30] = 99;  // no route
    reference_host::sign(f);
    wires[0].coming.push_back(f);
  }
  reference_router reference;
  reference.routes = lines();
  ipv4_router app = router_as(reference);
  app.error_interval_us = 3'000'000'000;
  packet_rig_shape shape;
  shape.send_port = 0;
  shape.frames = 0;
  packet_rig rig(shape);
  CHECK(run_script(rig, {}, app, wires) == "");
  // Each of eight lanes has ten of them.
  CHECK(rig.count(packet_cause::icmp_errors) == 8);
  CHECK(rig.count(packet_cause::no_route) == 80);
}

TEST_CASE("two routers that send to each other pass a packet on until its time has run out") {
  // 11.0.0.1 goes to hop 1: on the wire behind that port is the same router again.
  frame_bytes f = reference_host(3).datagram(64, true);
  const unsigned char to[] = {11, 0, 0, 1};
  std::copy(to, to + 4, f.begin() + 30);
  f[22] = 6;
  reference_host::sign(f);
  reference_router reference;
  reference.routes = lines();
  int rounds = 0;
  for (; rounds < 10; ++rounds) {
    scripted_line wires[2];
    wires[0].coming = {f};
    packet_rig_shape shape;
    shape.send_port = 0;
    shape.frames = 0;
    packet_rig rig(shape);
    REQUIRE(run_script(rig, {}, router_as(reference), wires) == "");
    REQUIRE(wires[0].gone.size() == 1);
    f = wires[0].gone.front();
    if (rig.count(packet_cause::hop_limit) == 1) break;
    std::copy(reference_host::mac, reference_host::mac + 6, f.begin());
    std::copy(reference_host::peer_mac, reference_host::peer_mac + 6, f.begin() + 6);
  }
  CHECK(rounds == 5);
  CHECK(f[34] == 11);  // time exceeded, about a packet with one hop left
  CHECK(f[42 + 8] == 1);
}

/// To which receive ring frames of every kind go, by the registers of an 82599; and which transmit
/// ring is the next.

#include "reference_rss.hpp"
#include "scripted_wire.hpp"

#include <doctest/doctest.h>
#include <nic/receive_steering.hpp>

#include <initializer_list>
#include <memory>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using registers = wire::intel::registers_82599;
using wire::intel::rss_type;
using frame_text = std::vector<unsigned char>;

frame_text operator+(frame_text a, const frame_text& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A port whose table says queue 1 at even entries and 2 at odd ones, with other bits above.
class spread_port {
 public:
  explicit spread_port(std::uint32_t fields = registers::hashes_all) {
    constexpr std::uint8_t key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                      0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                      0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                      0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
    for (std::uint32_t k = 0; k < 40; ++k)
      port_->registers[(0x5c80 + k) / 4] |= std::uint32_t{key[k]} << k % 4 * 8;
    for (std::uint32_t k = 0; k < 32; ++k) port_->registers[0x5c00 / 4 + k] = 0xe2d132f1;
    port_->registers[0x5818 / 4] = 1 | fields;
  }
  fw::receive_steering::choice of(const frame_text& frame) {
    const auto bytes = static_cast<std::uint32_t>(frame.size());
    return fw::receive_steering(*port_).of(frame.data(), bytes);
  }
  void turn_off() { port_->registers[0x5818 / 4] &= ~15u; }

 private:
  std::unique_ptr<fw::nic_port> port_ = std::make_unique<fw::nic_port>();
};

const frame_text hardware(12, 2);
const frame_text addresses4 = {66, 9, 149, 187, 161, 142, 100, 80};
const frame_text ports = {0x0a, 0xea, 0x06, 0xe6};  // 2794, 1766

frame_text ipv4(unsigned char protocol, unsigned char words = 5, unsigned char fragment = 0) {
  frame_text header = {
      static_cast<unsigned char>(0x40 | words), 0, 0, 48, 0, 0, 0, fragment, 64, protocol, 0, 0};
  return hardware + frame_text{8, 0} + header + addresses4 + frame_text(4u * (words - 5u), 1);
}
const frame_text addresses6 = {0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, 0,    0,    0,
                               0,    0,    0,    0,    7,    0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00,
                               0,    3,    0,    0,    0,    0,    0,    0,    0,    1};
frame_text ipv6(unsigned char next) {
  return hardware + frame_text{0x86, 0xdd} + frame_text{0x60, 0, 0, 0, 0, 20, next, 64} +
         addresses6;
}

/// The type and the hash of a frame, and that its queue is the one of the table.
bool goes(spread_port&& port, const frame_text& frame, rss_type type, std::uint32_t hash) {
  const fw::receive_steering::choice c = port.of(frame);
  constexpr std::uint32_t table[4] = {1, 2, 1, 2};
  const std::uint32_t queue = type == rss_type::none ? 0 : table[hash % 4];
  CAPTURE(c.hash);
  CAPTURE(static_cast<int>(c.type));
  CHECK(c.queue == queue);
  return c.type == type && (type == rss_type::none || c.hash == hash);
}

}  // namespace

TEST_CASE("IPv4 packets are hashed by addresses and, of TCP and UDP, by ports") {
  const frame_text rest(20, 0);
  CHECK(goes(spread_port(), ipv4(6) + ports + rest, rss_type::ipv4_tcp, 0x51ccc178));
  CHECK(goes(spread_port(), ipv4(17) + ports + rest, rss_type::ipv4_udp, 0x51ccc178));
  CHECK(goes(spread_port(), ipv4(6, 8) + ports + rest, rss_type::ipv4_tcp, 0x51ccc178));
  CHECK(goes(spread_port(), ipv4(1) + ports + rest, rss_type::ipv4, 0x323e8fc2));
  const std::uint32_t other = reference_hash(addresses4 + frame_text{0x0a, 0xeb, 0x06, 0xe6});
  CHECK(goes(spread_port(), ipv4(6) + frame_text{0x0a, 0xeb, 0x06, 0xe6} + rest, rss_type::ipv4_tcp,
             other));
}

TEST_CASE("all fragments of a packet go by addresses alone: only the first has ports") {
  const frame_text rest(20, 0);
  CHECK(goes(spread_port(), ipv4(17, 5, 1) + ports + rest, rss_type::ipv4, 0x323e8fc2));
  frame_text first = ipv4(17) + ports + rest;
  first[20] = 0x20;  // more fragments
  CHECK(goes(spread_port(), first, rss_type::ipv4, 0x323e8fc2));
}

TEST_CASE("IPv6 packets are hashed likewise, also behind a VLAN tag") {
  const frame_text rest(20, 0);
  CHECK(goes(spread_port(), ipv6(6) + ports + rest, rss_type::ipv6_tcp, 0x40207d3d));
  CHECK(goes(spread_port(), ipv6(17) + ports + rest, rss_type::ipv6_udp, 0x40207d3d));
  CHECK(goes(spread_port(), ipv6(58) + ports + rest, rss_type::ipv6, 0x2cc18cd5));
  frame_text tagged = ipv6(6) + ports + rest;
  tagged.insert(tagged.begin() + 12, {0x81, 0, 0, 7});
  CHECK(goes(spread_port(), tagged, rss_type::ipv6_tcp, 0x40207d3d));
}

TEST_CASE("only the fields that MRQC names are hashed") {
  const frame_text rest(20, 0);
  const frame_text tcp = ipv4(6) + ports + rest;
  CHECK(goes(spread_port(registers::hashes_ipv4), tcp, rss_type::ipv4, 0x323e8fc2));
  CHECK(goes(spread_port(registers::hashes_ipv4_tcp), tcp, rss_type::ipv4_tcp, 0x51ccc178));
  CHECK(goes(spread_port(registers::hashes_ipv4_udp), tcp, rss_type::none, 0));
  CHECK(goes(spread_port(registers::hashes_ipv6), tcp, rss_type::none, 0));
  CHECK(goes(spread_port(registers::hashes_ipv6_tcp), ipv6(17) + ports, rss_type::none, 0));
  spread_port off;
  off.turn_off();
  CHECK(goes(std::move(off), tcp, rss_type::none, 0));
}

TEST_CASE("what is no IP packet, or ends before its addresses, goes to queue 0") {
  const frame_text arp = hardware + frame_text{8, 6} + frame_text(46, 1);
  CHECK(goes(spread_port(), arp, rss_type::none, 0));
  const frame_text whole4 = ipv4(6) + ports;
  const frame_text whole6 = ipv6(6) + ports;
  for (std::size_t bytes = 0; bytes < 34; ++bytes) {
    CHECK(goes(spread_port(), {whole4.begin(), whole4.begin() + static_cast<long>(bytes)},
               rss_type::none, 0));
  }
  for (std::size_t bytes = 0; bytes < 54; ++bytes) {
    CHECK(goes(spread_port(), {whole6.begin(), whole6.begin() + static_cast<long>(bytes)},
               rss_type::none, 0));
  }
  // Its ports are cut.
  CHECK(goes(spread_port(), {whole4.begin(), whole4.end() - 1}, rss_type::ipv4, 0x323e8fc2));
  CHECK(goes(spread_port(), {whole6.begin(), whole6.end() - 1}, rss_type::ipv6, 0x2cc18cd5));
  frame_text bad = whole4;
  bad[14] = 0x44;  // a header of 16 bytes
  CHECK(goes(spread_port(), bad, rss_type::none, 0));
  bad[14] = 0x65;
  CHECK(goes(spread_port(), bad, rss_type::none, 0));
}

TEST_CASE("transmit rings of a port take turns, a frame each") {
  // Two rings full of frames, and a wire that takes one frame per round.
  constexpr std::uint32_t depth = 16;
  const auto port = std::make_unique<fw::nic_port>();
  std::vector<wire::intel::descriptor> entries[2];
  std::vector<unsigned char> frames(2 * 64);
  std::vector<fw::nic_window> windows(fw::nic_window::most);
  fw::nic_node node;
  node.ports = port.get();
  node.queues = 2;
  node.windows = windows.data();
  windows[2].open(fw::nic_window::address_of(2), frames.data(), frames.size());
  for (std::uint32_t q = 0; q < 2; ++q) {
    const std::uint64_t bus = fw::nic_window::address_of(q);
    const auto where = wire::intel::registers_82599::transmit(q);
    frames[q * 64] = static_cast<unsigned char>(q);
    for (std::uint32_t k = 0; k < depth; ++k)
      entries[q].push_back(wire::intel::advanced_transmit::frame(
          fw::nic_window::address_of(2) + std::uint64_t{q} * 64, 64));
    windows[q].open(bus, reinterpret_cast<unsigned char*>(entries[q].data()), depth * 16);
    port->registers[where.base_high / 4] = static_cast<std::uint32_t>(bus >> 32);
    port->registers[where.bytes / 4] = depth * 16;
    port->registers[where.tail / 4] = depth - 1;
    port->registers[where.control / 4] = where.enable;
    port->transmit[q].enabled = where.enable;
  }
  scripted_line line;
  line.tries = 3;
  const scripted_wire wire{&line};
  fw::receive_engine<fw::nic_82599, scripted_wire> in(node, 0, wire);
  for (std::uint32_t round = 0; round < 200; ++round)
    fw::transmit_engine<fw::nic_82599, scripted_wire>(node, 0, wire, in).tick();
  REQUIRE(line.gone.size() == 2 * (depth - 1));
  std::uint32_t sent[2] = {};
  for (const frame_bytes& f : line.gone) {
    const std::uint32_t q = f[0];
    CHECK(++sent[q] <= sent[1 - q] + 2);
  }
  CHECK(port->transmit[0].frames == depth - 1);
  CHECK(port->transmit[1].frames == depth - 1);
}

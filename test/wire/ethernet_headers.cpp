/// Headers of packets against those of Linux, and against frames written out by hand.

#include "hex.hpp"
#include "random_fields.hpp"
#include <gnstor/wire/ethernet/arp_packet.hpp>
#include <gnstor/wire/ethernet/ethernet_header.hpp>
#include <gnstor/wire/ethernet/frame_limits.hpp>
#include <gnstor/wire/ethernet/icmp_header.hpp>
#include <gnstor/wire/ethernet/internet_checksum.hpp>
#include <gnstor/wire/ethernet/ipv6_header.hpp>
#include <gnstor/wire/ethernet/tcp_header.hpp>
#include <gnstor/wire/ethernet/udp_header.hpp>
#include <gnstor/wire/ethernet/vlan_tag.hpp>

#include <doctest/doctest.h>
#include <linux/if_ether.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>

#include <cstring>

namespace {

namespace ether = gnstor::wire::ethernet;
using gnstor::test::hex;
using gnstor::test::random_fields;
using gnstor::test::random_rounds;

static_assert(sizeof(ether::ethernet_header) == sizeof(ethhdr));
static_assert(offsetof(ether::ethernet_header, destination) == offsetof(ethhdr, h_dest));
static_assert(offsetof(ether::ethernet_header, source) == offsetof(ethhdr, h_source));
static_assert(offsetof(ether::ethernet_header, type) == offsetof(ethhdr, h_proto));
static_assert(ether::min_frame_bytes == ETH_ZLEN && ether::max_frame_bytes == ETH_FRAME_LEN);
static_assert(static_cast<int>(ether::ether_type::ipv4) == ETH_P_IP);
static_assert(static_cast<int>(ether::ether_type::arp) == ETH_P_ARP);
static_assert(static_cast<int>(ether::ether_type::vlan) == ETH_P_8021Q);
static_assert(static_cast<int>(ether::ether_type::ipv6) == ETH_P_IPV6);
static_assert(static_cast<int>(ether::ether_type::provider_vlan) == ETH_P_8021AD);

static_assert(sizeof(ether::arp_packet) == sizeof(ether_arp));
static_assert(offsetof(ether::arp_packet, operation) == offsetof(ether_arp, ea_hdr.ar_op));
static_assert(offsetof(ether::arp_packet, sender) == offsetof(ether_arp, arp_sha));
static_assert(offsetof(ether::arp_packet, sender_ip) == offsetof(ether_arp, arp_spa));
static_assert(offsetof(ether::arp_packet, target) == offsetof(ether_arp, arp_tha));
static_assert(offsetof(ether::arp_packet, target_ip) == offsetof(ether_arp, arp_tpa));

static_assert(sizeof(ether::ipv4_header) == sizeof(iphdr));
static_assert(offsetof(ether::ipv4_header, total_bytes) == offsetof(iphdr, tot_len));
static_assert(offsetof(ether::ipv4_header, identification) == offsetof(iphdr, id));
static_assert(offsetof(ether::ipv4_header, fragment) == offsetof(iphdr, frag_off));
static_assert(offsetof(ether::ipv4_header, time_to_live) == offsetof(iphdr, ttl));
static_assert(offsetof(ether::ipv4_header, protocol) == offsetof(iphdr, protocol));
static_assert(offsetof(ether::ipv4_header, checksum) == offsetof(iphdr, check));
static_assert(offsetof(ether::ipv4_header, source) == offsetof(iphdr, saddr));
static_assert(offsetof(ether::ipv4_header, destination) == offsetof(iphdr, daddr));
static_assert(static_cast<int>(ether::ip_protocol::udp) == IPPROTO_UDP);
static_assert(static_cast<int>(ether::ip_protocol::esp) == IPPROTO_ESP);
static_assert(ether::ipv4_header::dont_fragment == IP_DF);
static_assert(ether::ipv4_header::more_fragments == IP_MF);

static_assert(sizeof(ether::ipv6_header) == sizeof(ip6_hdr));
static_assert(offsetof(ether::ipv6_header, payload_bytes) == offsetof(ip6_hdr, ip6_plen));
static_assert(offsetof(ether::ipv6_header, next) == offsetof(ip6_hdr, ip6_nxt));
static_assert(offsetof(ether::ipv6_header, hop_limit) == offsetof(ip6_hdr, ip6_hlim));
static_assert(offsetof(ether::ipv6_header, source) == offsetof(ip6_hdr, ip6_src));
static_assert(offsetof(ether::ipv6_header, destination) == offsetof(ip6_hdr, ip6_dst));

static_assert(sizeof(ether::udp_header) == sizeof(udphdr));
static_assert(offsetof(ether::udp_header, total_bytes) == offsetof(udphdr, len));
static_assert(offsetof(ether::udp_header, checksum) == offsetof(udphdr, check));

static_assert(sizeof(ether::tcp_header) == sizeof(tcphdr));
static_assert(offsetof(ether::tcp_header, sequence) == offsetof(tcphdr, seq));
static_assert(offsetof(ether::tcp_header, acknowledgment) == offsetof(tcphdr, ack_seq));
static_assert(offsetof(ether::tcp_header, flags) == offsetof(tcphdr, th_flags));
static_assert(offsetof(ether::tcp_header, window) == offsetof(tcphdr, window));
static_assert(offsetof(ether::tcp_header, checksum) == offsetof(tcphdr, check));
static_assert(ether::tcp_header::syn == TH_SYN && ether::tcp_header::ack == TH_ACK);

static_assert(sizeof(ether::icmp_header) == sizeof(icmphdr));
static_assert(offsetof(ether::icmp_header, checksum) == offsetof(icmphdr, checksum));
static_assert(offsetof(ether::icmp_header, id) == offsetof(icmphdr, un.echo.id));
static_assert(ether::icmp_header::time_exceeded == ICMP_TIME_EXCEEDED);

/// ARP request of 192.168.0.1 for 192.168.0.199, as tcpdump -xx shows one; with a VLAN tag.
alignas(2) const unsigned char arp_frame[] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x81, 0x00, 0x60, 0x2a,
    0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
    0xc0, 0xa8, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc0, 0xa8, 0x00, 0xc7};

/// A UDP datagram "hello" from 192.168.0.1:1234 to 192.168.0.199:53; checksums added up by hand.
alignas(2) const
    unsigned char udp_packet[] = {0x45, 0x00, 0x00, 0x21, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8,
                                  0xb3, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7, 0x04, 0xd2,
                                  0x00, 0x35, 0x00, 0x0d, 0x34, 0xe2, 0x68, 0x65, 0x6c, 0x6c, 0x6f};

template <class Header>
Header read(const unsigned char* from) {
  Header h;
  std::memcpy(&h, from, sizeof h);
  return h;
}

}  // namespace

TEST_CASE("an ARP request behind a VLAN tag reads as what it asks") {
  const auto frame = read<ether::ethernet_header>(arp_frame);
  CHECK(frame.is(ether::ether_type::vlan));
  CHECK(frame.destination.is_group());
  CHECK_FALSE(frame.source.is_group());
  const auto tag = read<ether::vlan_tag>(arp_frame + 14);
  CHECK(tag.id() == 42);
  CHECK(tag.priority() == 3);
  CHECK(tag.type == ETH_P_ARP);
  const auto arp = read<ether::arp_packet>(arp_frame + 18);
  CHECK(arp.operation == ether::arp_packet::request);
  CHECK(arp.sender == frame.source);
  CHECK(arp.sender_ip == 0xc0a80001);
  CHECK(arp.target_ip == 0xc0a800c7);
}

TEST_CASE("fields are written most significant byte first") {
  random_fields fields("network order");
  for (int round = 0; round < random_rounds; ++round) {
    const auto small = fields.draw<std::uint16_t>();
    const auto large = fields.draw<std::uint32_t>();
    ether::network16 n16;
    ether::network32 n32;
    n16 = small;
    n32 = large;
    const std::uint16_t theirs16 = htons(small);
    const std::uint32_t theirs32 = htonl(large);
    REQUIRE(hex(n16) == hex(theirs16));
    REQUIRE(hex(n32) == hex(theirs32));
    REQUIRE(n16 == small);
    REQUIRE(n32 == large);
  }
}

TEST_CASE("the checksum of RFC 1071's example is that of its section 3") {
  alignas(2) const unsigned char bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  CHECK(ether::internet_checksum().add_bytes(bytes, 8).value() == 0x220d);
}

TEST_CASE("a datagram's checksums come out right, and are zero over what carries them") {
  auto ip = read<ether::ipv4_header>(udp_packet);
  CHECK(ip.version() == 4);
  CHECK(ip.header_bytes() == 20);
  CHECK(ip.is(ether::ip_protocol::udp));
  CHECK_FALSE(ip.is_fragment());
  CHECK(ether::internet_checksum().add_bytes(udp_packet, 20).value() == 0);
  const auto udp = read<ether::udp_header>(udp_packet + 20);
  CHECK(udp.destination == 53);
  CHECK(pseudo_header(ip, udp.total_bytes).add_bytes(udp_packet + 20, 13).value() == 0);
  ip.checksum = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&ip);
  CHECK(ether::internet_checksum().add_bytes(bytes, 20).value() == 0xb8b3);
}

TEST_CASE("an update of RFC 1624's section 4 gives 0000, not FFFF") {
  const auto updated = ether::updated_checksum(
      ether::network16::of(0xdd2f), ether::network16::of(0x5555), ether::network16::of(0x3285));
  CHECK(updated == 0x0000);
}

TEST_CASE("a checksum that is updated equals one computed anew") {
  random_fields fields("checksum");
  for (int round = 0; round < random_rounds; ++round) {
    ether::ipv4_header ip{};
    ip.version_words = ether::ipv4_header::without_options;
    ip.total_bytes = fields.draw<std::uint16_t>();
    ip.identification = fields.draw<std::uint16_t>();
    ip.time_to_live = fields.draw<std::uint8_t>();
    ip.protocol = fields.draw<std::uint8_t>();
    ip.source = fields.draw<std::uint32_t>();
    ip.destination = fields.draw<std::uint32_t>();
    const auto* bytes = reinterpret_cast<const unsigned char*>(&ip);
    const auto anew = [&] {
      ip.checksum = 0;
      return ether::internet_checksum().add_bytes(bytes, sizeof ip).value();
    };
    const ether::network16 first = anew();
    const ether::network16 before = ip.identification;
    ip.identification = fields.draw<std::uint16_t>();
    const ether::network16 updated = updated_checksum(first, before, ip.identification);
    REQUIRE(updated == anew());
  }
}

TEST_CASE("an odd byte counts as the upper half of a word") {
  alignas(2) const unsigned char odd[] = {0x12, 0x34, 0x56};
  alignas(2) const unsigned char even[] = {0x12, 0x34, 0x56, 0x00};
  CHECK(ether::internet_checksum().add_bytes(odd, 3).value() ==
        ether::internet_checksum().add_bytes(even, 4).value());
}

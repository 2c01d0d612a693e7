#pragma once

#include <gnstor/wire/ethernet/ethernet_header.hpp>
#include <gnstor/wire/ethernet/ipv4_header.hpp>
#include <gnstor/wire/ethernet/ipv6_header.hpp>
#include <gnstor/wire/ethernet/toeplitz_hash.hpp>
#include <gnstor/wire/ethernet/vlan_tag.hpp>
#include <gnstor/wire/intel/registers_82599.hpp>
#include <gnstor/wire/intel/rss_type.hpp>

#include <nic/nic_port.hpp>

#include <cstring>

namespace gnstor::fw {

/// To which receive queue of an 82599 a frame goes: by receive-side scaling, as the port's MRQC,
/// RSSRK and RETA say.
///
/// A frame of which nothing is hashed has type `none` and goes to queue 0. 82599
/// datasheet, 7.1.2.8.
class receive_steering {
 public:
  using registers = wire::intel::registers_82599;
  using rss_type = wire::intel::rss_type;

  struct choice {
    std::uint32_t queue;
    std::uint32_t hash;
    rss_type type;
  };

  GNSTOR_HD explicit receive_steering(nic_port& port)
      : port_(&port), fields_(word(registers::multiple_queues)) {}

  /// False: all frames go to queue 0.
  GNSTOR_HD bool is_on() const {
    return (fields_ & registers::multiple_mode) == registers::rss_alone;
  }

  GNSTOR_HD choice of(const unsigned char* frame, std::uint32_t bytes) const {
    choice c{0, 0, rss_type::none};
    if (!is_on()) return c;
    unsigned char key[hash::key_bytes];
    for (std::uint32_t k = 0; k < sizeof key; k += 4) {
      for (std::uint32_t b = 0; b < 4; ++b) key[k + b] = byte_of(word(registers::rss_key(k)), b);
    }
    hash_of(frame, bytes, hash(key), c);
    if (c.type == rss_type::none) return c;
    const std::uint32_t index = c.hash % registers::redirection_entries;
    const std::uint32_t entry = byte_of(word(registers::redirection(index)), index);
    c.queue = entry % registers::most_rss_queues;
    return c;
  }

 private:
  using hash = wire::ethernet::toeplitz_hash;
  using ip_protocol = wire::ethernet::ip_protocol;

  /// These registers are set before the port is served, and stay.
  GNSTOR_HD std::uint32_t word(std::uint32_t offset) const { return port_->registers[offset / 4]; }
  GNSTOR_HD static unsigned char byte_of(std::uint32_t word, std::uint32_t index) {
    return static_cast<unsigned char>(word >> index % 4 * 8);
  }
  GNSTOR_HD bool hashes(std::uint32_t field) const { return (fields_ & field) != 0; }

  /// A header of the frame; false if it ends before.
  template <class T>
  GNSTOR_HD static bool read(const unsigned char* frame, std::uint32_t bytes, std::uint32_t at,
                             T& header) {
    if (at > bytes || bytes - at < sizeof header) return false;
    std::memcpy(&header, frame + at, sizeof header);
    return true;
  }

  GNSTOR_HD void hash_of(const unsigned char* frame, std::uint32_t bytes, const hash& empty,
                         choice& c) const {
    namespace ether = wire::ethernet;
    ether::ethernet_header e;
    if (!read(frame, bytes, 0, e)) return;
    std::uint32_t at = sizeof e;
    std::uint16_t type = e.type;
    if (type == static_cast<std::uint16_t>(ether::ether_type::vlan)) {
      ether::vlan_tag tag;
      if (!read(frame, bytes, at, tag)) return;
      at += sizeof tag;
      type = tag.type;
    }
    ether::ipv4_header v4;
    ether::ipv6_header v6;
    if (type == static_cast<std::uint16_t>(ether::ether_type::ipv4) && read(frame, bytes, at, v4) &&
        v4.version() == 4 && v4.header_bytes() >= sizeof v4) {
      const hash addresses = hash(empty).add(v4.source).add(v4.destination);
      const std::uint8_t above = v4.is_fragment() ? no_ports : v4.protocol;
      return finish({frame, bytes, at + v4.header_bytes()}, above, addresses, of_ipv4(), c);
    }
    if (type != static_cast<std::uint16_t>(ether::ether_type::ipv6) ||
        !read(frame, bytes, at, v6) || v6.version() != 6) {
      return;
    }
    hash addresses(empty);
    for (const ether::network16 field : v6.source) addresses.add(field);
    for (const ether::network16 field : v6.destination) addresses.add(field);
    finish({frame, bytes, static_cast<std::uint32_t>(at + sizeof v6)}, v6.next, addresses,
           of_ipv6(), c);
  }

  /// What an IP version's hashes are called, and the bits of MRQC that ask for them.
  struct version_types {
    rss_type tcp, udp, addresses;
    std::uint32_t tcp_field, udp_field, addresses_field;
  };
  struct place {
    const unsigned char* frame;
    std::uint32_t bytes;
    std::uint32_t at;
  };
  static constexpr std::uint8_t no_ports = 255;
  GNSTOR_HD static constexpr version_types of_ipv4() {
    return {rss_type::ipv4_tcp,         rss_type::ipv4_udp,         rss_type::ipv4,
            registers::hashes_ipv4_tcp, registers::hashes_ipv4_udp, registers::hashes_ipv4};
  }
  GNSTOR_HD static constexpr version_types of_ipv6() {
    return {rss_type::ipv6_tcp,         rss_type::ipv6_udp,         rss_type::ipv6,
            registers::hashes_ipv6_tcp, registers::hashes_ipv6_udp, registers::hashes_ipv6};
  }

  /// With the ports where there are some and they are asked for, else the addresses alone.
  GNSTOR_HD void finish(const place& where, std::uint8_t protocol, hash addresses,
                        const version_types& v, choice& c) const {
    const bool tcp = protocol == static_cast<std::uint8_t>(ip_protocol::tcp) && hashes(v.tcp_field);
    const bool udp = protocol == static_cast<std::uint8_t>(ip_protocol::udp) && hashes(v.udp_field);
    wire::ethernet::network16 ports[2];
    if ((tcp || udp) && read(where.frame, where.bytes, where.at, ports)) {
      c.hash = addresses.add(ports[0]).add(ports[1]).value();
      c.type = tcp ? v.tcp : v.udp;
    } else if (hashes(v.addresses_field)) {
      c.hash = addresses.value();
      c.type = v.addresses;
    }
  }

  nic_port* port_;
  std::uint32_t fields_;
};

}  // namespace gnstor::fw

#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/wire/ethernet/ethernet_header.hpp>
#include <gnstor/wire/ethernet/frame_head.hpp>
#include <gnstor/wire/ethernet/frame_limits.hpp>
#include <gnstor/wire/ethernet/internet_checksum.hpp>
#include <gnstor/wire/ethernet/numbered_addresses.hpp>
#include <gnstor/wire/ethernet/udp_header.hpp>

#include <cstring>

namespace gnstor::wire::ethernet {

/// A UDP datagram whose every byte follows from its stream and its number: what an emulated NIC's
/// generator or a kernel makes, and what is at the other end knows again.
///
/// Whoever forwards it may change the hardware addresses and the time to live; anything else is
/// damage.
struct numbered_frame {
  static constexpr std::uint32_t headers = 14 + 20 + 8;
  static constexpr std::uint16_t udp_port = 4791;
  static constexpr std::uint8_t first_time_to_live = 64;

  /// What a frame's payload begins with.
  struct label {
    std::uint64_t sequence;
    std::uint32_t check;   ///< of what is beside it
    std::uint16_t stream;  ///< who made it: the numbers of each are its own
    std::uint16_t bytes;   ///< of the frame
  };
  static_assert(sizeof(label) == 16);
  static constexpr std::uint32_t filled = headers + sizeof(label);  ///< from here on: fill
  static_assert(filled <= min_frame_bytes && filled <= frame_head::most);

  /// What a number adds to a digest of numbers, which says whatever their order whether they are
  /// those that were to come.
  GNSTOR_HD static std::uint64_t digest_of(std::uint64_t sequence) {
    return mix64(sequence + 0x9e3779b97f4a7c15);
  }

  /// Writes the frame: `bytes` of it, at least `min_frame_bytes`.
  GNSTOR_HD static void make(unsigned char* to, const label& which,
                             const numbered_addresses& addresses = {}) {
    frame_head head;
    const ethernet_header e{numbered_addresses::port(which.stream),
                            {{0x02, 0, 0, 0, 2, static_cast<std::uint8_t>(which.stream)}},
                            network16::of(0x0800)};
    std::memcpy(head.at, &e, sizeof e);
    ipv4_header ip = header_of(which, addresses);
    ip.checksum = internet_checksum().add_bytes(reinterpret_cast<unsigned char*>(&ip), 20).value();
    std::memcpy(head.at + 14, &ip, sizeof ip);
    const udp_header udp = udp_of(which, addresses);
    std::memcpy(head.at + 34, &udp, sizeof udp);
    std::memcpy(head.at + headers, &which, sizeof which);
    for (std::uint32_t k = filled; k < frame_head::most; ++k) head.at[k] = fill_of(which, k);
    head.store(to, which.bytes);
    for (std::uint32_t k = frame_head::most; k < which.bytes; ++k) to[k] = fill_of(which, k);
  }

  /// A label with its check.
  GNSTOR_HD static label labelled(std::uint64_t sequence, std::uint16_t stream,
                                  std::uint16_t bytes) {
    label l{sequence, 0, stream, bytes};
    l.check = check_of(l);
    return l;
  }

  /// What a frame of `bytes` is; false if it is none of these.
  GNSTOR_HD static bool read(const unsigned char* from, std::uint32_t bytes, label& which) {
    frame_head head;
    head.load(from, bytes);
    return read(head, bytes, which);
  }
  /// The same of one whose head is here.
  GNSTOR_HD static bool read(const frame_head& head, std::uint32_t bytes, label& which) {
    if (bytes < filled) return false;
    std::memcpy(&which, head.at + headers, sizeof which);
    return which.check == check_of(which);
  }

  /// True if nothing but what a forwarder may change differs from what was made.
  GNSTOR_HD static bool is_sound(const unsigned char* from, std::uint32_t bytes, const label& which,
                                 const numbered_addresses& addresses = {}) {
    frame_head head;
    head.load(from, bytes);
    return is_sound(head, from, bytes, which, addresses);
  }
  /// The same of one whose head is here.
  GNSTOR_HD static bool is_sound(const frame_head& head, const unsigned char* from,
                                 std::uint32_t bytes, const label& which,
                                 const numbered_addresses& addresses) {
    if (bytes != which.bytes) return false;
    ipv4_header ip;
    std::memcpy(&ip, head.at + 14, sizeof ip);
    const ipv4_header made = header_of(which, addresses);
    bool sound = internet_checksum().add_bytes(head.at + 14, 20).value() == 0 &&
                 ip.time_to_live != 0 && ip.time_to_live <= first_time_to_live &&
                 ip.total_bytes == made.total_bytes && ip.source == made.source &&
                 ip.destination == made.destination && head.at[12] == 0x08 && head.at[13] == 0;
    udp_header udp;
    std::memcpy(&udp, head.at + 34, sizeof udp);
    const udp_header sent = udp_of(which, addresses);
    sound = sound && udp.source == sent.source && udp.destination == sent.destination &&
            udp.total_bytes == sent.total_bytes && udp.checksum == sent.checksum;
    for (std::uint32_t k = filled; k < frame_head::most; ++k)
      sound = sound && (k >= bytes || head.at[k] == fill_of(which, k));
    for (std::uint32_t k = frame_head::most; k < bytes; ++k)
      sound = sound && from[k] == fill_of(which, k);
    return sound;
  }

 private:
  GNSTOR_HD static ipv4_header header_of(const label& which, const numbered_addresses& addresses) {
    ipv4_header ip{};
    ip.version_words = ipv4_header::without_options;
    ip.total_bytes = static_cast<std::uint16_t>(which.bytes - 14);
    ip.identification = static_cast<std::uint16_t>(which.sequence);
    ip.time_to_live = first_time_to_live;
    ip.protocol = static_cast<std::uint8_t>(ip_protocol::udp);
    ip.source = numbered_addresses::source(which.stream);
    ip.destination = addresses.destination(which.sequence);
    return ip;
  }
  GNSTOR_HD static udp_header udp_of(const label& which, const numbered_addresses& addresses) {
    udp_header udp{};
    udp.source = addresses.source_port(which.sequence, udp_port);
    udp.destination = udp_port;
    udp.total_bytes = static_cast<std::uint16_t>(which.bytes - 34);
    return udp;
  }
  GNSTOR_HD static std::uint32_t check_of(const label& which) {
    return static_cast<std::uint32_t>(mix64(which.sequence ^ std::uint64_t{which.stream} << 48 ^
                                            std::uint64_t{which.bytes} << 32));
  }
  GNSTOR_HD static unsigned char fill_of(const label& which, std::uint32_t k) {
    return static_cast<unsigned char>(which.sequence * 31 + k);
  }
};

}  // namespace gnstor::wire::ethernet

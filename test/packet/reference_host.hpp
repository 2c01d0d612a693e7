#pragma once
/// What a host of one address answers, byte by byte and from the RFCs alone: nothing of the library
/// is used here. RFC 826, RFC 791, RFC 792, RFC 768, RFC 862.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

namespace gnstor::test {

using frame_bytes = std::vector<unsigned char>;

/// Makes frames for a host and says what it answers.
class reference_host {
 public:
  static constexpr unsigned char mac[6] = {0x02, 0x47, 0x4e, 0x53, 0x00, 0x01};
  static constexpr unsigned char ip[4] = {10, 64, 0, 2};
  static constexpr unsigned char peer_mac[6] = {0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};
  static constexpr unsigned char peer_ip[4] = {10, 64, 0, 1};

  explicit reference_host(std::uint64_t seed) : random_(seed) {}

  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  frame_bytes arp_request() {
    frame_bytes f = ethernet(0x0806);
    for (int k = 0; k < 6; ++k) f[static_cast<std::size_t>(k)] = 0xff;
    append(f, {0, 1, 8, 0, 6, 4, 0, 1});
    f.insert(f.end(), peer_mac, peer_mac + 6);
    f.insert(f.end(), peer_ip, peer_ip + 4);
    append(f, {0, 0, 0, 0, 0, 0});
    f.insert(f.end(), ip, ip + 4);
    return padded(std::move(f));
  }
  /// @param bytes of data
  frame_bytes ping(std::uint32_t bytes) {
    frame_bytes icmp = {8, 0, 0, 0, any(), any(), any(), any()};
    for (std::uint32_t k = 0; k < bytes; ++k) icmp.push_back(any());
    put16(icmp, 2, sum_of(icmp, 0, icmp.size(), 0));
    return padded(ipv4(1, icmp));
  }
  /// @param has_sum false: without a checksum
  frame_bytes datagram(std::uint32_t bytes, bool has_sum) {
    frame_bytes data;
    const auto from = static_cast<std::uint16_t>(0x3000 | any());
    for (std::uint32_t k = 0; k < bytes; ++k) data.push_back(any());
    return datagram_of(data, from, 7, has_sum);
  }
  /// One with these bytes, from a port to a port.
  frame_bytes datagram_of(const frame_bytes& data, std::uint16_t from, std::uint16_t to,
                          bool has_sum) {
    const auto length = static_cast<std::uint16_t>(8 + data.size());
    frame_bytes udp(8);
    put16(udp, 0, from);
    put16(udp, 2, to);
    put16(udp, 4, length);
    udp.insert(udp.end(), data.begin(), data.end());
    if (has_sum) {
      std::uint32_t pseudo = 17u + length;
      for (const auto* a : {peer_ip, ip}) pseudo += a[0] * 256u + a[1] + a[2] * 256u + a[3];
      const std::uint16_t sum = sum_of(udp, 0, udp.size(), pseudo);
      put16(udp, 6, sum == 0 ? 0xffff : sum);
    }
    return padded(ipv4(17, udp));
  }
  /// A frame of any of these kinds.
  frame_bytes sound() {
    switch (draw(4)) {
      case 0: return arp_request();
      case 1: return ping(draw(1473));
      case 2: return datagram(draw(1473), false);
      default: return datagram(draw(1473), true);
    }
  }

  /// What the host answers to a frame that was made here and not changed.
  static frame_bytes answer(frame_bytes f) {
    for (std::size_t k = 0; k < 6; ++k) {
      f[k] = f[6 + k];
      f[6 + k] = mac[k];
    }
    if (f[13] == 0x06) {
      f[21] = 2;
      for (std::size_t k = 0; k < 10; ++k) f[32 + k] = f[22 + k];
      for (std::size_t k = 0; k < 6; ++k) f[22 + k] = mac[k];
      for (std::size_t k = 0; k < 4; ++k) f[28 + k] = ip[k];
      return f;
    }
    cut(f, 14u + f[16] * 256u + f[17]);
    for (std::size_t k = 0; k < 4; ++k) std::swap(f[26 + k], f[30 + k]);
    f[22] = 64;
    put16(f, 24, 0);
    put16(f, 24, sum_of(f, 14, 34, 0));
    if (f[23] == 1) {
      f[34] = 0;
      put16(f, 36, 0);
      put16(f, 36, sum_of(f, 34, f.size(), 0));
    } else {
      std::swap(f[34], f[36]);
      std::swap(f[35], f[37]);
    }
    return f;
  }

  /// The same of a datagram, with other bytes and a checksum.
  static frame_bytes answer_with(const frame_bytes& question, const frame_bytes& data) {
    frame_bytes f = answer(question);
    cut(f, 42);
    f.insert(f.end(), data.begin(), data.end());
    put16(f, 16, static_cast<std::uint16_t>(f.size() - 14));
    sign(f);
    const auto length = static_cast<std::uint16_t>(f.size() - 34);
    put16(f, 38, length);
    put16(f, 40, 0);
    std::uint32_t pseudo = 17u + length;
    for (std::size_t k = 26; k < 34; k += 2) pseudo += f[k] * 256u + f[k + 1];
    const std::uint16_t sum = sum_of(f, 34, f.size(), pseudo);
    put16(f, 40, sum == 0 ? 0xffff : sum);
    return f;
  }

  /// Leaves `bytes` of it, at most what it has.
  static void cut(frame_bytes& f, std::size_t bytes) {
    if (bytes < f.size()) f.erase(f.begin() + static_cast<std::ptrdiff_t>(bytes), f.end());
  }
  static void put16(frame_bytes& f, std::size_t at, std::uint16_t value) {
    f[at] = static_cast<unsigned char>(value >> 8);
    f[at + 1] = static_cast<unsigned char>(value);
  }
  /// The one's complement of the one's complement sum. RFC 1071.
  static std::uint16_t sum_of(const frame_bytes& f, std::size_t from, std::size_t to,
                              std::uint32_t before) {
    std::uint32_t sum = before;
    for (std::size_t k = from; k < to; ++k) {
      sum += (k - from) % 2 == 0 ? f[k] * 256u : f[k];
      if (sum > 0xffff) sum = (sum & 0xffff) + 1;
    }
    for (int k = 0; k < 2; ++k) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
  }
  /// Writes the header's checksum anew.
  static void sign(frame_bytes& f) {
    put16(f, 24, 0);
    put16(f, 24, sum_of(f, 14, 14u + (f[14] & 15u) * 4, 0));
  }

 private:
  unsigned char any() { return static_cast<unsigned char>(random_()); }
  static void append(frame_bytes& f, std::initializer_list<int> bytes) {
    for (const int b : bytes) f.push_back(static_cast<unsigned char>(b));
  }
  static frame_bytes ethernet(std::uint16_t type) {
    frame_bytes f(mac, mac + 6);
    f.insert(f.end(), peer_mac, peer_mac + 6);
    append(f, {type >> 8, type & 255});
    return f;
  }
  /// Ethernet's shortest frame has 60 bytes: what fills it up is not the packet's.
  frame_bytes padded(frame_bytes f) {
    const bool pads = draw(2) == 0;
    for (; pads && f.size() < 60;) f.push_back(any());
    return f;
  }
  frame_bytes ipv4(int protocol, const frame_bytes& data) {
    frame_bytes f = ethernet(0x0800);
    append(f,
           {0x45, 0, 0, 0, any(), any(), 0x40, 0, 1 + static_cast<int>(draw(255)), protocol, 0, 0});
    put16(f, 16, static_cast<std::uint16_t>(20 + data.size()));
    f.insert(f.end(), peer_ip, peer_ip + 4);
    f.insert(f.end(), ip, ip + 4);
    sign(f);
    f.insert(f.end(), data.begin(), data.end());
    return f;
  }

  std::mt19937_64 random_;
};

}  // namespace gnstor::test

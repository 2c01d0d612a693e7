#pragma once

#include <gnstor/wire/ethernet/ipv4_header.hpp>

#include <cstring>

namespace gnstor::wire::ethernet {

/// The one's complement sum that IPv4, UDP, TCP and ICMP carry. RFC 1071.
///
/// Words are added as they lie in memory: the sum of swapped words is the swapped sum (RFC 1071,
/// 2B), so that a little-endian machine swaps nothing.
class internet_checksum {
 public:
  GNSTOR_HD constexpr internet_checksum& add(network16 field) {
    sum_ += field.raw;
    return *this;
  }
  GNSTOR_HD constexpr internet_checksum& add(network32 field) {
    return add(field.high).add(field.low);
  }
  GNSTOR_HD constexpr internet_checksum& add(std::uint16_t value) {
    return add(network16::of(value));
  }
  /// Bytes of a packet, from an even address on. After an odd count nothing more may be added.
  GNSTOR_HD internet_checksum& add_bytes(const unsigned char* bytes, std::uint32_t count) {
    // Copied: they may have been written as bytes, and compilers use that.
    const auto* even = static_cast<const unsigned char*>(__builtin_assume_aligned(bytes, 2));
    for (std::uint32_t k = 0; k < count / 2; ++k) {
      std::uint16_t word = 0;
      std::memcpy(&word, even + 2 * k, sizeof word);
      sum_ += word;
    }
    if (count % 2 != 0) sum_ += bytes[count - 1];
    return *this;
  }

  /// What a header carries. Over data that carries it already: 0 if it is right.
  GNSTOR_HD constexpr network16 value() const { return {static_cast<std::uint16_t>(~folded())}; }

 private:
  GNSTOR_HD constexpr std::uint16_t folded() const {
    std::uint64_t s = (sum_ & 0xffffffff) + (sum_ >> 32);
    for (int k = 0; k < 3; ++k) s = (s & 0xffff) + (s >> 16);
    return static_cast<std::uint16_t>(s);
  }

  std::uint64_t sum_ = 0;
};

/// The checksum of a header in which `before` became `after`. RFC 1624, equation 3: unlike RFC
/// 1141's it never turns 0 into FFFFh where it should not.
GNSTOR_HD constexpr network16 updated_checksum(network16 checksum, network16 before,
                                               network16 after) {
  std::uint32_t s = std::uint32_t{static_cast<std::uint16_t>(~checksum.raw)} +
                    static_cast<std::uint16_t>(~before.raw) + after.raw;
  s = (s & 0xffff) + (s >> 16);
  s = (s & 0xffff) + (s >> 16);
  return {static_cast<std::uint16_t>(~s)};
}

/// What the checksums of UDP and TCP cover beside their own bytes. RFC 768, RFC 9293 3.1.
/// @param bytes of the UDP or TCP header and its data
GNSTOR_HD constexpr internet_checksum pseudo_header(const ipv4_header& ip, std::uint16_t bytes) {
  internet_checksum sum;
  sum.add(ip.source).add(ip.destination).add(std::uint16_t{ip.protocol}).add(bytes);
  return sum;
}

}  // namespace gnstor::wire::ethernet

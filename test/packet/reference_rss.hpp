#pragma once
/// Receive-side scaling as Microsoft describes it, bit by bit, and the frames of generators.

#include <gnstor/wire/ethernet/numbered_addresses.hpp>
#include <gnstor/wire/ethernet/numbered_frame.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace gnstor::test {

/// "RSS Hashing Types": for each bit of the input, from the left, that is set, the leftmost 32 bits
/// of the key; then the key is shifted left by one bit.
inline std::uint32_t reference_hash(const std::vector<unsigned char>& input) {
  static constexpr std::array<unsigned char, 40> key = {
      0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
      0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
      0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
  std::vector<bool> bits;
  for (const unsigned char byte : key) {
    for (int k = 7; k >= 0; --k) bits.push_back((byte >> k & 1) != 0);
  }
  std::uint32_t result = 0;
  for (std::size_t at = 0; at < input.size() * 8; ++at) {
    if ((input[at / 8] >> (7 - at % 8) & 1) == 0) continue;
    std::uint32_t leftmost = 0;
    for (std::size_t k = 0; k < 32; ++k) leftmost = leftmost << 1 | (bits[at + k] ? 1u : 0u);
    result ^= leftmost;
  }
  return result;
}

/// Of frame `n` of a generator that has `flows`.
inline std::uint32_t reference_hash_of(std::uint32_t stream, std::uint64_t n, std::uint32_t flows) {
  using addresses = wire::ethernet::numbered_addresses;
  const auto source = addresses::source(stream);
  const auto destination = addresses{.flows = flows}.destination(n);
  const auto from = static_cast<std::uint16_t>(0xc000 + n % flows % 0x4000);
  const std::uint16_t to = wire::ethernet::numbered_frame::udp_port;
  std::vector<unsigned char> input;
  for (const std::uint32_t word : {source, destination, std::uint32_t{from} << 16 | to}) {
    for (int shift = 24; shift >= 0; shift -= 8)
      input.push_back(static_cast<unsigned char>(word >> shift));
  }
  return reference_hash(input);
}

}  // namespace gnstor::test

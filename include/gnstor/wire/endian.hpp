#pragma once
/// Byte order of the wire. mlx5 fields are big endian, NVMe fields are little endian.
///
/// The structures of `wire/` are trivial types, so that they may be copied from raw memory and lie
/// in shared memory: `T x{};` gives zeroes, `T x;` whatever was there.

#include <gnstor/core/config.hpp>

#include <bit>

namespace gnstor::wire {

static_assert(std::endian::native == std::endian::little,
              "gnstor keeps NVMe fields as plain integers and needs a little-endian host");

/// The value whose bytes in memory are `x` most significant byte first. Its own inverse, so it also
/// decodes.
GNSTOR_HD constexpr std::uint16_t be16(std::uint16_t x) {
  return static_cast<std::uint16_t>(x << 8 | x >> 8);
}

/// As `be16`, for 32 bits.
GNSTOR_HD constexpr std::uint32_t be32(std::uint32_t x) {
  return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
}

/// As `be16`, for 64 bits.
GNSTOR_HD constexpr std::uint64_t be64(std::uint64_t x) {
  return std::uint64_t{be32(static_cast<std::uint32_t>(x))} << 32 |
         be32(static_cast<std::uint32_t>(x >> 32));
}

static_assert(be16(0x0102) == 0x0201 && be32(0x01020304) == 0x04030201);
static_assert(be64(0x0102030405060708) == 0x0807060504030201);

}  // namespace gnstor::wire

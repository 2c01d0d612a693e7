#pragma once
/// Fields of a packet's headers: most significant byte first, at any even address.
///
/// An Ethernet header has 14 bytes, so that what follows it is aligned to two bytes and no more; a
/// GPU traps on a four-byte load there. Frames begin at even addresses.

#include <gnstor/wire/endian.hpp>

#include <type_traits>

namespace gnstor::wire::ethernet {

/// A 16-bit field. Reads and writes as the number that it means.
struct network16 {
  std::uint16_t raw;  ///< as it lies in memory

  GNSTOR_HD static constexpr network16 of(std::uint16_t value) { return {be16(value)}; }
  GNSTOR_HD constexpr operator std::uint16_t() const { return be16(raw); }
  GNSTOR_HD constexpr network16& operator=(std::uint16_t value) {
    raw = be16(value);
    return *this;
  }
};

/// A 32-bit field, likewise.
struct network32 {
  network16 high;
  network16 low;

  GNSTOR_HD static constexpr network32 of(std::uint32_t value) {
    return {network16::of(static_cast<std::uint16_t>(value >> 16)),
            network16::of(static_cast<std::uint16_t>(value))};
  }
  GNSTOR_HD constexpr operator std::uint32_t() const { return std::uint32_t{high} << 16 | low; }
  GNSTOR_HD constexpr network32& operator=(std::uint32_t value) { return *this = of(value); }
};

static_assert(sizeof(network16) == 2 && std::is_trivial_v<network16>);
static_assert(sizeof(network32) == 4 && alignof(network32) == 2 && std::is_trivial_v<network32>);
static_assert(network16::of(0x0102).raw == 0x0201 && network32::of(0x01020304).high.raw == 0x0201);

}  // namespace gnstor::wire::ethernet

#pragma once

#include <gnstor/core/assert.hpp>

#include <cstdint>
#include <span>

namespace gnstor::host::mlx5::ifc {

/// A field of a device command, as the PRM's tables place it: bit 0 is the most significant bit of
/// byte 0. At most 64 bits wide.
struct field {
  std::uint32_t offset = 0;
  std::uint32_t width = 0;

  /// The field within a structure that begins `bits` further on.
  constexpr field at(std::uint32_t bits) const { return {offset + bits, width}; }
};

/// Writes `value` into a field of a big-endian command; the bits around it stay.
constexpr void put(std::span<unsigned char> bytes, field f, std::uint64_t value) {
  GNSTOR_VERIFY(f.width >= 1 && f.width <= 64 && f.offset + f.width <= bytes.size() * 8);
  GNSTOR_VERIFY(f.width == 64 || value >> f.width == 0);
  for (std::uint32_t k = 0; k < f.width; ++k) {
    const std::uint32_t bit = f.offset + f.width - 1 - k;
    const auto mask = static_cast<unsigned char>(0x80u >> bit % 8);
    unsigned char& at = bytes[bit / 8];
    at = static_cast<unsigned char>((value >> k & 1) != 0 ? at | mask : at & ~mask);
  }
}

/// Reads a field of a big-endian command.
constexpr std::uint64_t get(std::span<const unsigned char> bytes, field f) {
  GNSTOR_VERIFY(f.width >= 1 && f.width <= 64 && f.offset + f.width <= bytes.size() * 8);
  std::uint64_t value = 0;
  for (std::uint32_t bit = f.offset; bit < f.offset + f.width; ++bit) {
    value = value << 1 | (bytes[bit / 8] >> (7 - bit % 8) & 1);
  }
  return value;
}

}  // namespace gnstor::host::mlx5::ifc

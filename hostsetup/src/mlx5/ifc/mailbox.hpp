#pragma once

#include "field.hpp"

#include <array>

namespace gnstor::host::mlx5::ifc {

/// The zero-filled bytes of one device command, or of its answer.
template <std::uint32_t Bits>
class mailbox {
  static_assert(Bits % 32 == 0);

 public:
  constexpr void put(field f, std::uint64_t value) { ifc::put(bytes_, f, value); }
  constexpr std::uint64_t get(field f) const { return ifc::get(bytes_, f); }
  constexpr std::span<unsigned char> bytes() { return bytes_; }
  constexpr std::span<const unsigned char> bytes() const { return bytes_; }

 private:
  std::array<unsigned char, Bits / 8> bytes_{};
};

}  // namespace gnstor::host::mlx5::ifc

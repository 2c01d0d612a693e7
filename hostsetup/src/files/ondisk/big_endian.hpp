#pragma once
/// Integers as they lie in XFS structures: most significant byte first, checksums the other way
/// round, at any alignment.

#include <cstddef>
#include <cstdint>

namespace gnstor::host::files::xfs {

/// An integer, most significant byte first.
template <class Integer>
struct big_endian {
  unsigned char bytes[sizeof(Integer)];

  constexpr operator Integer() const {
    Integer value = 0;
    for (const unsigned char byte : bytes) value = static_cast<Integer>(value << 8 | byte);
    return value;
  }
};
template <>
struct big_endian<std::uint8_t>;  // a byte has no order

using big16 = big_endian<std::uint16_t>;
using big32 = big_endian<std::uint32_t>;
using big64 = big_endian<std::uint64_t>;

/// An integer of 32 bits, least significant byte first: checksums.
struct little32 {
  unsigned char bytes[4];

  constexpr operator std::uint32_t() const {
    return std::uint32_t{bytes[3]} << 24 | std::uint32_t{bytes[2]} << 16 |
           std::uint32_t{bytes[1]} << 8 | bytes[0];
  }
};

/// A UUID: bytes that are compared.
struct uuid {
  unsigned char bytes[16];

  friend bool operator==(const uuid&, const uuid&) = default;
};

static_assert(sizeof(big16) == 2 && sizeof(big32) == 4 && sizeof(big64) == 8);
static_assert(alignof(big64) == 1 && alignof(little32) == 1 && sizeof(uuid) == 16);
static_assert(big32{{1, 2, 3, 4}} == 0x01020304 && little32{{1, 2, 3, 4}} == 0x04030201);

}  // namespace gnstor::host::files::xfs

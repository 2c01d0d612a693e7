#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::intel {

/// One entry of a receive or transmit ring of Intel's Ethernet controllers, little-endian: what its
/// words mean is said by a format, `advanced_receive` and the like.
///
/// The driver writes an address and what it wants; the NIC writes over it what it did. The word
/// with bit "descriptor done" is one of the last two, and whoever writes it writes it last.
struct alignas(16) descriptor {
  std::uint64_t address;  ///< of the buffer; in what a NIC writes back, information and hash
  std::uint32_t lower;    ///< bytes 8 to 11
  std::uint32_t upper;    ///< bytes 12 to 15
};

static_assert(sizeof(descriptor) == 16 && std::is_trivial_v<descriptor>);
static_assert(offsetof(descriptor, address) == 0);
static_assert(offsetof(descriptor, lower) == 8);
static_assert(offsetof(descriptor, upper) == 12);

/// Bit 0 of the word that a NIC writes last, in every format.
inline constexpr std::uint32_t descriptor_done = 1;

}  // namespace gnstor::wire::intel

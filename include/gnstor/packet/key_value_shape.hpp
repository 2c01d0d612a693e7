#pragma once

#include <gnstor/packet/key_value_key.hpp>

namespace gnstor::inline v0 {

/// How many items a `key_value_table` has, and how long: what its memory follows from.
///
/// The memory is 64-bit words: of each bucket a lock and a hand, of each item a header, the key and
/// the value. An item can lie in any of the `ways` places of its bucket.
struct key_value_shape {
  static constexpr std::uint32_t ways = 8;
  static constexpr std::uint32_t header_words = 6;
  static constexpr std::uint32_t value_at = header_words + key_value_key::most_words;
  /// So that an answer with the longest key is one datagram of Ethernet, whatever else it says.
  static constexpr std::uint32_t most_value_bytes = 1152;

  std::uint64_t buckets = 0;      ///< a power of two
  std::uint32_t value_bytes = 0;  ///< longest value

  GNSTOR_HD constexpr std::uint32_t item_words() const { return value_at + (value_bytes + 7) / 8; }
  GNSTOR_HD constexpr std::uint64_t words() const {
    return buckets * (2 + std::uint64_t{ways} * item_words());
  }
  GNSTOR_HD constexpr std::uint64_t slots() const { return buckets * ways; }
};

static_assert(key_value_shape{2, 9}.words() == 2 * (2 + 8 * 40));

}  // namespace gnstor::inline v0

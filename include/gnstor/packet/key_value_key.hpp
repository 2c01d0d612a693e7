#pragma once

#include <gnstor/core/hash.hpp>

#include <cstring>
#include <type_traits>

namespace gnstor::inline v0 {

/// A key of a `key_value_table`: bytes of a packet, 1 to 250 of any value, and their hash.
class key_value_key {
 public:
  static constexpr std::uint32_t most_bytes = 250;
  static constexpr std::uint32_t most_words = 32;

  /// @param bytes 1 to 250, which stay where they are as long as the key is used
  /// @param seed of the table: without it nobody knows which keys share a bucket
  GNSTOR_HD key_value_key(const unsigned char* at, std::uint32_t bytes, std::uint64_t seed)
      : at_(at), bytes_(bytes), hash_(mix64(seed ^ bytes)) {
    for (std::uint32_t k = 0; k < words(); ++k) hash_ = mix64(hash_ + word(k));
  }

  GNSTOR_HD std::uint32_t bytes() const { return bytes_; }
  GNSTOR_HD std::uint64_t hash() const { return hash_; }
  GNSTOR_HD std::uint32_t words() const { return (bytes_ + 7) / 8; }
  /// Its k-th eight bytes; what is behind its end is 0.
  GNSTOR_HD std::uint64_t word(std::uint32_t k) const { return word_at(at_, bytes_, k); }

  /// Likewise of any bytes.
  GNSTOR_HD static std::uint64_t word_at(const unsigned char* at, std::uint32_t bytes,
                                         std::uint32_t k) {
    const std::uint32_t left = bytes - 8 * k;
    std::uint64_t w = 0;
    std::memcpy(&w, at + 8 * k, left < 8 ? left : 8);
    return w;
  }

 private:
  const unsigned char* at_;
  std::uint32_t bytes_;
  std::uint64_t hash_;
};

static_assert(std::is_trivially_copyable_v<key_value_key>);

}  // namespace gnstor::inline v0

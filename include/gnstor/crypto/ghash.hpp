#pragma once

#include <gnstor/crypto/aes128.hpp>

namespace gnstor::inline v0::crypto {

/// A number of GCM's field, as two words: bit 0 of a block is the most significant bit of `high`.
struct gcm_element {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  GNSTOR_HD static constexpr gcm_element of(const block128& b) {
    gcm_element e;
    for (int k = 0; k < 8; ++k) {
      e.high = e.high << 8 | b.byte[k];
      e.low = e.low << 8 | b.byte[8 + k];
    }
    return e;
  }
  GNSTOR_HD constexpr block128 block() const {
    block128 b{};
    for (int k = 0; k < 8; ++k) {
      b.byte[k] = static_cast<std::uint8_t>(high >> (56 - 8 * k));
      b.byte[8 + k] = static_cast<std::uint8_t>(low >> (56 - 8 * k));
    }
    return b;
  }
  GNSTOR_HD friend constexpr gcm_element operator^(const gcm_element& a, const gcm_element& b) {
    return {a.high ^ b.high, a.low ^ b.low};
  }
  /// Without a branch or a look-up that depends on the numbers. SP 800-38D, 6.3.
  /// @par Bound 128 steps
  GNSTOR_HD friend constexpr gcm_element operator*(const gcm_element& a, gcm_element v) {
    constexpr std::uint64_t reduction = std::uint64_t{0xe1} << 56;
    gcm_element z;
    for (int k = 0; k < 128; ++k) {
      const std::uint64_t bit = (k < 64 ? a.high >> (63 - k) : a.low >> (127 - k)) & 1;
      const std::uint64_t take = 0 - bit;
      z.high ^= v.high & take;
      z.low ^= v.low & take;
      const std::uint64_t carry = 0 - (v.low & 1);
      v.low = v.low >> 1 | v.high << 63;
      v.high = v.high >> 1 ^ (reduction & carry);
    }
    return z;
  }
};

/// GHASH: what GCM authenticates with. SP 800-38D, 6.4.
class ghash {
 public:
  GNSTOR_HD constexpr explicit ghash(const gcm_element& key) : key_(key) {}

  /// Takes `bytes` and zeroes up to the end of a block. @par Bound a product for each block
  GNSTOR_HD constexpr ghash& add(const unsigned char* data, std::uint32_t bytes) {
    for (std::uint32_t at = 0; at < bytes; at += 16) {
      block128 b{};
      for (std::uint32_t k = 0; k < 16 && at + k < bytes; ++k) b.byte[k] = data[at + k];
      sum_ = (sum_ ^ gcm_element::of(b)) * key_;
    }
    return *this;
  }
  /// Takes the lengths in bytes of the two parts, and is the end.
  GNSTOR_HD constexpr gcm_element end(std::uint64_t associated, std::uint64_t data) const {
    return (sum_ ^ gcm_element{associated * 8, data * 8}) * key_;
  }

 private:
  gcm_element key_;
  gcm_element sum_;
};

}  // namespace gnstor::inline v0::crypto

#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0::crypto {

/// SHA-1, for HMAC alone: by itself it is broken. RFC 3174.
class sha1 {
 public:
  static constexpr std::uint32_t bytes = 20;
  static constexpr std::uint32_t block_bytes = 64;
  struct digest {
    std::uint8_t byte[bytes];
  };

  /// @par Bound 80 rounds for each 64 bytes
  GNSTOR_HD constexpr sha1& add(const unsigned char* data, std::uint64_t count) {
    for (std::uint64_t k = 0; k < count; ++k) {
      pending_[length_ % block_bytes] = data[k];
      if (++length_ % block_bytes == 0) compress();
    }
    return *this;
  }
  /// The digest of all that was added. The object is at its end.
  GNSTOR_HD constexpr digest end() {
    const std::uint64_t bits = length_ * 8;
    constexpr unsigned char one = 0x80;
    constexpr unsigned char zero = 0;
    add(&one, 1);
    const std::uint64_t used = length_ % block_bytes;
    const std::uint64_t fill = (2 * block_bytes - 8 - used) % block_bytes;
    for (std::uint64_t k = 0; k < fill; ++k) add(&zero, 1);
    for (int k = 56; k >= 0; k -= 8) {
      const auto b = static_cast<unsigned char>(bits >> k);
      add(&b, 1);
    }
    digest d{};
    for (std::uint32_t k = 0; k < bytes; ++k)
      d.byte[k] = static_cast<std::uint8_t>(state_[k / 4] >> (24 - 8 * (k % 4)));
    return d;
  }

 private:
  GNSTOR_HD static constexpr std::uint32_t turned(std::uint32_t x, int n) {
    return x << n | x >> (32 - n);
  }
  /// RFC 3174, 5 and 6.2: the words are kept in a ring of 16.
  GNSTOR_HD constexpr void compress() {
    std::uint32_t w[16] = {};
    for (std::uint32_t k = 0; k < block_bytes; ++k) w[k / 4] = w[k / 4] << 8 | pending_[k];
    std::uint32_t a = state_[0];
    std::uint32_t b = state_[1];
    std::uint32_t c = state_[2];
    std::uint32_t d = state_[3];
    std::uint32_t e = state_[4];
    for (std::uint32_t t = 0; t < 80; ++t) {
      if (t >= 16)
        w[t % 16] = turned(w[(t + 13) % 16] ^ w[(t + 8) % 16] ^ w[(t + 2) % 16] ^ w[t % 16], 1);
      std::uint32_t f = b ^ c ^ d;
      std::uint32_t constant = t < 40 ? 0x6ed9eba1 : 0xca62c1d6;
      if (t < 20) {
        f = (b & c) | (~b & d);
        constant = 0x5a827999;
      } else if (t >= 40 && t < 60) {
        f = (b & c) | (b & d) | (c & d);
        constant = 0x8f1bbcdc;
      }
      const std::uint32_t next = turned(a, 5) + f + e + w[t % 16] + constant;
      e = d;
      d = c;
      c = turned(b, 30);
      b = a;
      a = next;
    }
    state_[0] += a;
    state_[1] += b;
    state_[2] += c;
    state_[3] += d;
    state_[4] += e;
  }

  std::uint32_t state_[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::uint64_t length_ = 0;
  unsigned char pending_[block_bytes] = {};
};

static_assert(std::is_trivially_copyable_v<sha1>);

}  // namespace gnstor::inline v0::crypto

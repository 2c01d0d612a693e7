#pragma once

#include <gnstor/crypto/sha1.hpp>

namespace gnstor::inline v0::crypto {

/// HMAC with SHA-1 under one key: both halves of the key are hashed once, for all messages.
/// RFC 2104; ESP keeps the first 12 bytes (RFC 2404).
class hmac_sha1 {
 public:
  using digest = sha1::digest;

  hmac_sha1() = default;
  GNSTOR_HD constexpr hmac_sha1(const unsigned char* key, std::uint32_t bytes) {
    unsigned char padded[sha1::block_bytes] = {};
    if (bytes > sha1::block_bytes) {
      const digest d = sha1().add(key, bytes).end();
      for (std::uint32_t k = 0; k < sha1::bytes; ++k) padded[k] = d.byte[k];
    } else {
      for (std::uint32_t k = 0; k < bytes; ++k) padded[k] = key[k];
    }
    for (unsigned char& b : padded) b = static_cast<unsigned char>(b ^ 0x36);
    inner_.add(padded, sizeof padded);
    for (unsigned char& b : padded) b = static_cast<unsigned char>(b ^ 0x36 ^ 0x5c);
    outer_.add(padded, sizeof padded);
  }

  /// @par Bound as of `sha1::add`, and two blocks
  GNSTOR_HD constexpr digest of(const unsigned char* data, std::uint64_t bytes) const {
    sha1 inner = inner_;
    const digest d = inner.add(data, bytes).end();
    sha1 outer = outer_;
    return outer.add(d.byte, sizeof d.byte).end();
  }

 private:
  sha1 inner_;
  sha1 outer_;
};

static_assert(std::is_trivially_copyable_v<hmac_sha1>);

}  // namespace gnstor::inline v0::crypto

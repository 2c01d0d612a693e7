#pragma once

#include <gnstor/crypto/aes_ctr.hpp>
#include <gnstor/crypto/are_same.hpp>
#include <gnstor/crypto/ghash.hpp>

namespace gnstor::inline v0::crypto {

/// Authenticated encryption by AES-128-GCM with nonces of 12 bytes and tags of 16. SP 800-38D.
///
/// A nonce must never come twice under a key: that gives the authentication key away.
class aes_gcm {
 public:
  static constexpr std::uint32_t nonce_bytes = 12;
  static constexpr std::uint32_t tag_bytes = 16;
  using nonce = std::uint8_t[nonce_bytes];

  aes_gcm() = default;
  GNSTOR_HD constexpr explicit aes_gcm(const std::uint8_t (&key)[aes128::key_bytes])
      : cipher_(key), hash_key_(gcm_element::of(cipher_.encrypt(block128{}))) {}

  /// Encrypts in place, and makes the tag.
  /// @param associated what is authenticated and not encrypted
  GNSTOR_HD constexpr block128 seal(const nonce& n, const unsigned char* associated,
                                    std::uint32_t associated_bytes, unsigned char* data,
                                    std::uint32_t bytes) const {
    const block128 first = counter_of(n);
    apply_ctr(cipher_, counter_block(first, 1), data, bytes);
    return tag_of(first, associated, associated_bytes, data, bytes);
  }
  /// Decrypts in place if the tag is right; else nothing is changed, and it is false.
  /// @par Bound time of the comparison does not depend on where tags differ
  GNSTOR_HD constexpr bool open(const nonce& n, const unsigned char* associated,
                                std::uint32_t associated_bytes, unsigned char* data,
                                std::uint32_t bytes, const unsigned char* tag) const {
    const block128 first = counter_of(n);
    const block128 right = tag_of(first, associated, associated_bytes, data, bytes);
    if (!are_same(tag, right.byte, tag_bytes)) return false;
    apply_ctr(cipher_, counter_block(first, 1), data, bytes);
    return true;
  }

 private:
  GNSTOR_HD static constexpr block128 counter_of(const nonce& n) {
    block128 b{};
    for (std::uint32_t k = 0; k < nonce_bytes; ++k) b.byte[k] = n[k];
    b.byte[15] = 1;
    return b;
  }
  GNSTOR_HD constexpr block128 tag_of(const block128& first, const unsigned char* associated,
                                      std::uint32_t associated_bytes, const unsigned char* data,
                                      std::uint32_t bytes) const {
    const gcm_element sum = ghash(hash_key_)
                                .add(associated, associated_bytes)
                                .add(data, bytes)
                                .end(associated_bytes, bytes);
    block128 tag = cipher_.encrypt(first);
    tag ^= sum.block();
    return tag;
  }

  aes128 cipher_;
  gcm_element hash_key_;
};

static_assert(std::is_trivially_copyable_v<aes_gcm>);

}  // namespace gnstor::inline v0::crypto

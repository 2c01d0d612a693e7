#pragma once

#include <gnstor/crypto/aes_ctr.hpp>
#include <gnstor/crypto/are_same.hpp>
#include <gnstor/crypto/hmac_sha1.hpp>
#include <gnstor/packet/esp_transform.hpp>

namespace gnstor::inline v0 {

/// AES-128-CTR, and HMAC-SHA1 cut to 12 bytes. RFC 3686, RFC 2404.
class esp_ctr_hmac {
 public:
  static constexpr std::uint32_t vector_bytes = 8;
  static constexpr std::uint32_t check_bytes = 12;

  esp_ctr_hmac() = default;
  /// @param material as Linux's `rfc3686(ctr(aes))` takes it: the key, and four bytes of nonce
  /// @param check_key as its `hmac(sha1)` takes it
  GNSTOR_HD esp_ctr_hmac(const std::uint8_t (&material)[20], const std::uint8_t (&check_key)[20])
      : check_(check_key, 20) {
    std::uint8_t key[16];
    for (std::uint32_t k = 0; k < 16; ++k) key[k] = material[k];
    for (std::uint32_t k = 0; k < 4; ++k) salt_[k] = material[16 + k];
    cipher_ = crypto::aes128(key);
  }

  GNSTOR_HD void seal(unsigned char* esp, std::uint32_t plain_bytes) const {
    detail::put_esp_vector(esp);
    crypto::apply_ctr(cipher_, first_of(esp), esp + begin, plain_bytes);
    const crypto::sha1::digest d = check_.of(esp, begin + plain_bytes);
    for (std::uint32_t k = 0; k < check_bytes; ++k) esp[begin + plain_bytes + k] = d.byte[k];
  }
  GNSTOR_HD bool open(unsigned char* esp, std::uint32_t plain_bytes) const {
    const crypto::sha1::digest d = check_.of(esp, begin + plain_bytes);
    if (!crypto::are_same(esp + begin + plain_bytes, d.byte, check_bytes)) return false;
    crypto::apply_ctr(cipher_, first_of(esp), esp + begin, plain_bytes);
    return true;
  }

 private:
  static constexpr std::uint32_t begin = sizeof(wire::ethernet::esp_header) + vector_bytes;

  GNSTOR_HD crypto::block128 first_of(const unsigned char* esp) const {
    crypto::block128 b{};
    for (std::uint32_t k = 0; k < 4; ++k) b.byte[k] = salt_[k];
    for (std::uint32_t k = 0; k < 8; ++k) b.byte[4 + k] = esp[8 + k];
    b.byte[15] = 1;
    return b;
  }

  crypto::aes128 cipher_;
  crypto::hmac_sha1 check_;
  std::uint8_t salt_[4] = {};
};

static_assert(esp_transform<esp_ctr_hmac>);

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/crypto/aes_gcm.hpp>
#include <gnstor/packet/esp_transform.hpp>

namespace gnstor::inline v0 {

/// AES-128-GCM with a check value of 16 bytes. RFC 4106.
class esp_gcm {
 public:
  static constexpr std::uint32_t vector_bytes = 8;
  static constexpr std::uint32_t check_bytes = 16;

  esp_gcm() = default;
  /// @param material as Linux's `rfc4106(gcm(aes))` takes it: the key, and four bytes of salt
  GNSTOR_HD explicit esp_gcm(const std::uint8_t (&material)[20]) {
    std::uint8_t key[16];
    for (std::uint32_t k = 0; k < 16; ++k) key[k] = material[k];
    for (std::uint32_t k = 0; k < 4; ++k) salt_[k] = material[16 + k];
    cipher_ = crypto::aes_gcm(key);
  }

  GNSTOR_HD void seal(unsigned char* esp, std::uint32_t plain_bytes) const {
    detail::put_esp_vector(esp);
    crypto::aes_gcm::nonce n;
    make_nonce(esp, n);
    const crypto::block128 tag = cipher_.seal(n, esp, 8, esp + begin, plain_bytes);
    for (std::uint32_t k = 0; k < check_bytes; ++k) esp[begin + plain_bytes + k] = tag.byte[k];
  }
  GNSTOR_HD bool open(unsigned char* esp, std::uint32_t plain_bytes) const {
    crypto::aes_gcm::nonce n;
    make_nonce(esp, n);
    return cipher_.open(n, esp, 8, esp + begin, plain_bytes, esp + begin + plain_bytes);
  }

 private:
  static constexpr std::uint32_t begin = sizeof(wire::ethernet::esp_header) + vector_bytes;

  GNSTOR_HD void make_nonce(const unsigned char* esp, crypto::aes_gcm::nonce& n) const {
    for (std::uint32_t k = 0; k < 4; ++k) n[k] = salt_[k];
    for (std::uint32_t k = 0; k < 8; ++k) n[4 + k] = esp[8 + k];
  }

  crypto::aes_gcm cipher_;
  std::uint8_t salt_[4] = {};
};

static_assert(esp_transform<esp_gcm>);

}  // namespace gnstor::inline v0

#pragma once
/// Counter mode. SP 800-38A, 6.5; RFC 3686.

#include <gnstor/crypto/aes128.hpp>

namespace gnstor::inline v0::crypto {

/// A counter block whose last four bytes count, most significant first.
GNSTOR_HD constexpr block128 counter_block(block128 first, std::uint32_t n) {
  std::uint32_t count = 0;
  for (std::uint32_t k = 12; k < 16; ++k) count = count << 8 | first.byte[k];
  count += n;
  for (std::uint32_t k = 16; k-- > 12; count >>= 8)
    first.byte[k] = static_cast<std::uint8_t>(count);
  return first;
}

/// Encrypts or decrypts blocks `begin`, `begin + step` and so on of `bytes` at `data`, in place:
/// each lane of a group may have a share. SP 800-38A, 6.5; RFC 3686.
/// @param first the counter block of block 0
/// @par Bound an encryption for each block
GNSTOR_HD constexpr void apply_ctr(const aes128& cipher, const block128& first, unsigned char* data,
                                   std::uint32_t bytes, std::uint32_t begin = 0,
                                   std::uint32_t step = 1) {
  const std::uint32_t blocks = bytes / 16 + (bytes % 16 != 0 ? 1 : 0);
  for (std::uint32_t n = begin; n < blocks; n += step) {
    const block128 stream = cipher.encrypt(counter_block(first, n));
    const std::uint32_t at = n * 16;
    const std::uint32_t here = bytes - at < 16 ? bytes - at : 16;
    for (std::uint32_t k = 0; k < here; ++k)
      data[at + k] = static_cast<unsigned char>(data[at + k] ^ stream.byte[k]);
  }
}

}  // namespace gnstor::inline v0::crypto

#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0::crypto {

/// A block of 16 bytes, as it lies in memory.
struct block128 {
  std::uint8_t byte[16];

  GNSTOR_HD constexpr block128& operator^=(const block128& other) {
    for (int k = 0; k < 16; ++k) byte[k] = static_cast<std::uint8_t>(byte[k] ^ other.byte[k]);
    return *this;
  }
};

static_assert(sizeof(block128) == 16 && std::is_trivial_v<block128>);

namespace detail {

/// x times 2 in the field of AES. FIPS 197, 4.2.1.
GNSTOR_HD constexpr std::uint8_t doubled(std::uint8_t x) {
  return static_cast<std::uint8_t>(x << 1 ^ (x >> 7) * 0x1b);
}

struct aes_box {
  std::uint8_t of[256];
};

/// The substitution of bytes: inverses in the field, and an affine map. FIPS 197, 5.1.1.
GNSTOR_HD constexpr aes_box make_aes_box() {
  aes_box box{};
  std::uint8_t p = 1;
  std::uint8_t q = 1;
  // p runs through all powers of 3 and q through those of its inverse.
  for (int k = 0; k < 255; ++k) {
    p = static_cast<std::uint8_t>(p ^ doubled(p));
    q = static_cast<std::uint8_t>(q ^ q << 1);
    q = static_cast<std::uint8_t>(q ^ q << 2);
    q = static_cast<std::uint8_t>(q ^ q << 4);
    if ((q & 0x80) != 0) q = static_cast<std::uint8_t>(q ^ 0x09);
    const auto turned = [q](int n) { return static_cast<std::uint8_t>(q << n | q >> (8 - n)); };
    box.of[p] = static_cast<std::uint8_t>(q ^ turned(1) ^ turned(2) ^ turned(3) ^ turned(4) ^ 0x63);
  }
  box.of[0] = 0x63;
  return box;
}

static_assert(make_aes_box().of[0x00] == 0x63 && make_aes_box().of[0x53] == 0xed);

}  // namespace detail

/// AES with a key of 128 bits, forward alone: counter modes want no more. FIPS 197.
///
/// It looks bytes up in a table: what that takes depends on key and data where there is a cache in
/// between, so that whoever shares the processor may learn about them.
class aes128 {
 public:
  static constexpr std::uint32_t key_bytes = 16;

  aes128() = default;
  GNSTOR_HD constexpr explicit aes128(const std::uint8_t (&key)[key_bytes])
      : box_(detail::make_aes_box()) {
    for (std::uint32_t k = 0; k < key_bytes; ++k) round_[0].byte[k] = key[k];
    std::uint8_t constant = 1;
    for (std::uint32_t r = 1; r <= rounds; ++r) {
      const block128& before = round_[r - 1];
      block128& now = round_[r];
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint8_t turned = substituted(before.byte[12 + (k + 1) % 4]);
        now.byte[k] = static_cast<std::uint8_t>(before.byte[k] ^ turned ^ (k == 0 ? constant : 0));
      }
      for (std::uint32_t k = 4; k < 16; ++k)
        now.byte[k] = static_cast<std::uint8_t>(before.byte[k] ^ now.byte[k - 4]);
      constant = detail::doubled(constant);
    }
  }

  /// @par Bound ten rounds
  GNSTOR_HD constexpr block128 encrypt(block128 b) const {
    b ^= round_[0];
    for (std::uint32_t r = 1; r < rounds; ++r) {
      b = shifted(b);
      mix(b);
      b ^= round_[r];
    }
    b = shifted(b);
    b ^= round_[rounds];
    return b;
  }

 private:
  static constexpr std::uint32_t rounds = 10;

  GNSTOR_HD constexpr std::uint8_t substituted(std::uint8_t x) const { return box_.of[x]; }
  /// SubBytes and ShiftRows.
  GNSTOR_HD constexpr block128 shifted(const block128& b) const {
    block128 out{};
    for (std::uint32_t k = 0; k < 16; ++k)
      out.byte[k] = substituted(b.byte[(k + 4 * (k % 4)) % 16]);
    return out;
  }
  /// MixColumns.
  GNSTOR_HD static constexpr void mix(block128& b) {
    for (std::uint32_t c = 0; c < 16; c += 4) {
      std::uint8_t* const x = b.byte + c;
      const auto all = static_cast<std::uint8_t>(x[0] ^ x[1] ^ x[2] ^ x[3]);
      const std::uint8_t first = x[0];
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint8_t next = k == 3 ? first : x[k + 1];
        x[k] = static_cast<std::uint8_t>(x[k] ^ all ^
                                         detail::doubled(static_cast<std::uint8_t>(x[k] ^ next)));
      }
    }
  }

  block128 round_[rounds + 1];
  detail::aes_box box_;  ///< beside the keys: a GPU would copy a constant to each thread's stack
};

static_assert(std::is_trivially_copyable_v<aes128> && sizeof(aes128) == 432);

}  // namespace gnstor::inline v0::crypto

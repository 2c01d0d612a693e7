#pragma once

#include <gnstor/core/config.hpp>

#include <cstring>

namespace gnstor::fw {

/// CRC-32C (Castagnoli) as arithmetic on remainders: RFC 3720, 12.1 and appendix B.4.
///
/// A remainder is a polynomial over GF(2) with its highest power in bit 0, so that the bytes of a
/// message are added to it as they lie in memory.
struct crc32c_field {
  static constexpr std::uint32_t polynomial = 0x82f63b78;

  /// a * x modulo the polynomial.
  GNSTOR_HD static constexpr std::uint32_t next(std::uint32_t a) {
    return a >> 1 ^ ((a & 1) != 0 ? polynomial : 0);
  }
  /// a * b modulo the polynomial.
  GNSTOR_HD static constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (int k = 31; k >= 0; --k) {
      product ^= (a >> k & 1) != 0 ? b : 0;
      b = next(b);
    }
    return product;
  }
  /// What a remainder is multiplied by when `bytes` bytes follow it.
  GNSTOR_HD static constexpr std::uint32_t power(std::uint32_t bytes) {
    std::uint32_t result = 0x80000000;  // x^0
    std::uint32_t base = 0x00800000;    // x^8
    for (; bytes != 0; bytes >>= 1) {
      if ((bytes & 1) != 0) result = multiply(result, base);
      base = multiply(base, base);
    }
    return result;
  }
};

/// The product of a remainder and `power(bytes)`, as one look-up for each of its bytes.
class crc32c_shift {
 public:
  GNSTOR_HD constexpr explicit crc32c_shift(std::uint32_t bytes) {
    const std::uint32_t factor = crc32c_field::power(bytes);
    for (std::uint32_t k = 0; k < 4; ++k) {
      for (std::uint32_t bit = 0; bit < 8; ++bit)
        of_[k][1u << bit] = crc32c_field::multiply(1u << (8 * k + bit), factor);
      // The rest are sums: of the lowest bit's and of what is left.
      for (std::uint32_t v = 1; v < 256; ++v) of_[k][v] = of_[k][v & (0 - v)] ^ of_[k][v & (v - 1)];
    }
  }
  GNSTOR_HD constexpr std::uint32_t operator()(std::uint32_t remainder) const {
    return of_[0][remainder & 0xff] ^ of_[1][remainder >> 8 & 0xff] ^
           of_[2][remainder >> 16 & 0xff] ^ of_[3][remainder >> 24];
  }

 private:
  std::uint32_t of_[4][256] = {};
};

/// The same product by the lanes of a warp: each keeps a word of every table, and a look-up is a
/// shuffle. Five bits of the remainder choose a lane.
struct crc32c_lane_shift {
  static constexpr int tables = 7;
  std::uint32_t of[tables][32] = {};

  GNSTOR_HD constexpr explicit crc32c_lane_shift(std::uint32_t bytes) {
    const std::uint32_t factor = crc32c_field::power(bytes);
    for (std::uint32_t k = 0; k < tables; ++k) {
      for (std::uint32_t v = 0; v < 32; ++v)
        of[k][v] =
            crc32c_field::multiply(static_cast<std::uint32_t>(std::uint64_t{v} << (5 * k)), factor);
    }
  }
};

/// What each lane of a warp multiplies its remainder by: lane L's is followed by
/// `first - step * L` bytes. Four factors, x^8 apart, so that four parts of a remainder are
/// multiplied at once.
struct crc32c_lane_factors {
  static constexpr int parts = 4;
  std::uint32_t of[parts][32] = {};

  GNSTOR_HD constexpr crc32c_lane_factors(std::uint32_t first, std::uint32_t step) {
    for (std::uint32_t k = 0; k < parts; ++k) {
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        of[k][lane] = crc32c_field::power(first - step * lane + k);
    }
  }
};

/// The CRC-32C of `bytes` bytes, a multiple of 4.
inline std::uint32_t crc32c(const void* data, std::uint32_t bytes) {
  static constexpr crc32c_shift word(4);
  std::uint32_t remainder = 0xffffffff;
  for (std::uint32_t at = 0; at < bytes; at += 4) {
    std::uint32_t next = 0;
    std::memcpy(&next, static_cast<const char*>(data) + at, sizeof next);
    remainder = word(remainder ^ next);
  }
  return ~remainder;
}

static_assert(crc32c_field::power(0) == 0x80000000 && crc32c_shift(0)(12345) == 12345);

}  // namespace gnstor::fw

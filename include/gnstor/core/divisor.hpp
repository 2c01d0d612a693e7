#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// A number that others are divided by again and again: its reciprocal is computed once, and a
/// division costs two multiplications instead of some hundred cycles (Lemire, Kaser and Kurz,
/// 2019).
class divisor {
 public:
  divisor() = default;
  /// @param d from 1 on; 0, of something that is not there, divides as 1
  GNSTOR_HD constexpr explicit divisor(std::uint32_t d)
      : reciprocal_(~std::uint64_t{0} / (d == 0 ? 1 : d) + 1), value_(d) {}

  GNSTOR_HD constexpr std::uint32_t value() const { return value_; }
  /// `n` / value, rounded down: exact for every `n`.
  GNSTOR_HD constexpr std::uint32_t quotient(std::uint32_t n) const {
    if (reciprocal_ == 0) return n;  // of 1 it does not fit
    const std::uint64_t low = (reciprocal_ & 0xffffffff) * n >> 32;
    return static_cast<std::uint32_t>(((reciprocal_ >> 32) * n + low) >> 32);
  }
  GNSTOR_HD constexpr std::uint32_t remainder(std::uint32_t n) const {
    return n - quotient(n) * value_;
  }

 private:
  std::uint64_t reciprocal_;  ///< 2^64 / value, rounded up
  std::uint32_t value_;
};

static_assert(divisor(1).quotient(~0u) == ~0u && divisor(16).quotient(~0u) == ~0u / 16);
static_assert(divisor(~0u).quotient(~0u) == 1 && divisor(~0u).quotient(~0u - 1) == 0);
static_assert(divisor(7).quotient(48) == 6 && divisor(7).quotient(49) == 7);
static_assert(divisor(7).remainder(48) == 6);

}  // namespace gnstor::inline v0

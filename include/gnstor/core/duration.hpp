#pragma once

#include <gnstor/core/config.hpp>

#include <cstdint>
#include <type_traits>

namespace gnstor::detail {

/// A duration of the standard library, or of libcu++.
template <class D>
concept chrono_duration = requires(const D& d) {
  d.count();
  D::period::num;
  D::period::den;
};

/// `count` times `num` / `den` seconds in nanoseconds; 0 for less, the largest number for more.
template <class Rep>
GNSTOR_HD constexpr std::uint64_t whole_ns(Rep count, std::intmax_t num, std::intmax_t den) {
  constexpr std::intmax_t second = 1'000'000'000;
  constexpr std::uint64_t most = ~std::uint64_t{0};
  if (!(count > 0)) return 0;
  if constexpr (std::is_integral_v<Rep>) {
    const auto n = static_cast<std::uint64_t>(count);
    if (den <= second && second % den == 0) {
      const std::uint64_t each =
          static_cast<std::uint64_t>(num) * static_cast<std::uint64_t>(second / den);
      return n > most / each ? most : n * each;
    }
  }
  const double ns = static_cast<double>(count) * static_cast<double>(num) /
                    static_cast<double>(den) * static_cast<double>(second);
  return ns < 18446744073709549568.0 ? static_cast<std::uint64_t>(ns) : most;
}

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

/// A length of time: what timeouts take. Made by a literal (`using namespace gnstor::literals;`
/// then `5_ms`) or, on the host, from a duration of `std::chrono`.
///
/// Nanoseconds, never negative; what is beyond 584 years saturates.
class duration {
 public:
  constexpr duration() = default;
  /// @param length a duration of `std::chrono`, rounded down to nanoseconds
  template <detail::chrono_duration D>
  constexpr duration(const D& length)  // NOLINT: the same, by another name
      : ns_(detail::whole_ns(length.count(), D::period::num, D::period::den)) {}
  GNSTOR_HD static constexpr duration of_ns(std::uint64_t ns) { return duration(ns, 0); }

  GNSTOR_HD constexpr std::uint64_t ns() const { return ns_; }

  GNSTOR_HD friend constexpr bool operator==(duration a, duration b) { return a.ns_ == b.ns_; }
  GNSTOR_HD friend constexpr bool operator<(duration a, duration b) { return a.ns_ < b.ns_; }

 private:
  GNSTOR_HD constexpr duration(std::uint64_t ns, int) : ns_(ns) {}
  std::uint64_t ns_ = 0;
};

namespace literals {

GNSTOR_HD constexpr duration operator""_ns(unsigned long long n) { return duration::of_ns(n); }
GNSTOR_HD constexpr duration operator""_us(unsigned long long n) {
  return duration::of_ns(detail::whole_ns(n, 1, 1'000'000));
}
GNSTOR_HD constexpr duration operator""_ms(unsigned long long n) {
  return duration::of_ns(detail::whole_ns(n, 1, 1'000));
}
GNSTOR_HD constexpr duration operator""_s(unsigned long long n) {
  return duration::of_ns(detail::whole_ns(n, 1, 1));
}

}  // namespace literals

static_assert(sizeof(duration) == 8 && std::is_trivially_copyable_v<duration>);
static_assert(literals::operator""_ms(5).ns() == 5'000'000);

}  // namespace gnstor::inline v0

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace gnstor::test {

/// Random values for the fields of wire structures. Prints its seed; GNSTOR_SEED=N replays one.
class random_fields {
 public:
  explicit random_fields(const char* what) : seed_(choose_seed()), engine_(seed_) {
    std::printf("%s: GNSTOR_SEED=%llu\n", what, static_cast<unsigned long long>(seed_));
  }

  std::uint64_t seed() const { return seed_; }

  /// Any of `bits` (1 to 64) bits; the two extremes come up often.
  template <class Integer>
  Integer draw(unsigned bits = 8 * sizeof(Integer)) {
    const std::uint64_t ones = ~std::uint64_t{0} >> (64 - bits);
    const std::uint64_t kind = engine_() % 16;
    const std::uint64_t value = kind == 0 ? 0 : kind == 1 ? ones : engine_() & ones;
    return static_cast<Integer>(value);
  }

 private:
  static std::uint64_t choose_seed() {
    const char* text = std::getenv("GNSTOR_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  }

  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

inline constexpr int random_rounds = 4096;  ///< values drawn for each golden comparison

}  // namespace gnstor::test

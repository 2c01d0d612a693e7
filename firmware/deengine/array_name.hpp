#pragma once

#include <gnstor/core/hash.hpp>

#include <cstdint>

namespace gnstor::fw {

/// Which array an SSD belongs to: a number drawn when the array is made, and a check over it. So an
/// SSD of another one is known, whose volumes and epochs would else be believed.
struct array_name {
  std::uint64_t bits = 0;

  /// @param drawn not 0
  static constexpr array_name of(std::uint32_t drawn) {
    return {std::uint64_t{drawn} << 32 | mix64(drawn) >> 32};
  }
  /// False of an SSD that belongs to none yet, or was formatted before arrays had names.
  constexpr bool any() const { return bits != 0; }
  /// False of one that has been damaged.
  constexpr bool is_sound() const {
    return !any() || bits == of(static_cast<std::uint32_t>(bits >> 32)).bits;
  }

  friend constexpr bool operator==(array_name a, array_name b) { return a.bits == b.bits; }
};

static_assert(array_name{}.is_sound() && array_name::of(7).is_sound() && array_name::of(7).any());
static_assert(!array_name{array_name::of(7).bits ^ 1}.is_sound());
static_assert(!array_name{array_name::of(7).bits ^ std::uint64_t{1} << 40}.is_sound());

}  // namespace gnstor::fw

#pragma once

#include <gnstor/core/hash.hpp>

#include <type_traits>

namespace gnstor::fw {

/// What the wire before a port does to frames: how many of 1,024, by kind, and the seed that says
/// to which. What becomes of a frame follows from its number alone, so that a run can be repeated.
struct wire_faults {
  std::uint64_t seed = 1;
  std::uint32_t lost = 0;
  std::uint32_t duplicated = 0;
  std::uint32_t damaged = 0;     ///< delivered with a check sequence error
  std::uint32_t miscounted = 0;  ///< delivered with a wrong IP checksum
  std::uint32_t runts = 0;       ///< shorter than Ethernet allows: the MAC drops them
  std::uint32_t oversize = 0;    ///< longer than the port is set to: likewise
  std::uint32_t late = 0;        ///< their done bit comes some rounds after their data

  enum class fate : std::uint8_t { sound, lost, duplicated, damaged, miscounted, runt, oversize };

  GNSTOR_HD constexpr fate of(std::uint64_t sequence) const {
    std::uint32_t draw = drawn(sequence, 1) % 1024;
    const auto hits = [&draw](std::uint32_t share) {
      const bool hit = draw < share;
      draw -= hit ? 0 : share;
      return hit;
    };
    if (hits(lost)) return fate::lost;
    if (hits(duplicated)) return fate::duplicated;
    if (hits(damaged)) return fate::damaged;
    if (hits(miscounted)) return fate::miscounted;
    if (hits(runts)) return fate::runt;
    return hits(oversize) ? fate::oversize : fate::sound;
  }
  /// Rounds that the done bit of the `n`-th descriptor comes late.
  GNSTOR_HD constexpr std::uint32_t delay_of(std::uint64_t n) const {
    return drawn(n, 2) % 1024 < late ? 1 + drawn(n, 3) % 32 : 0;
  }
  GNSTOR_HD constexpr std::uint32_t drawn(std::uint64_t n, std::uint32_t what) const {
    return static_cast<std::uint32_t>(mix64(mix64(seed + what) + n));
  }
};

static_assert(std::is_trivially_copyable_v<wire_faults>);
static_assert(wire_faults{}.of(7) == wire_faults::fate::sound);
static_assert(wire_faults{.lost = 1024}.of(7) == wire_faults::fate::lost);

}  // namespace gnstor::fw

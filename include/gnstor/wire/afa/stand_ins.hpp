#pragma once

#include <gnstor/core/config.hpp>
#include <gnstor/wire/afa/array_limits.hpp>

#include <cstdint>
#include <type_traits>

namespace gnstor::wire::afa {

/// The version of an `array_membership`, or an `array_description`, with which SSDs stand in for
/// others: who does not know of them would write to too few SSDs, and must not go on.
inline constexpr std::uint32_t version_with_others = 5;

/// SSDs that serve at places of an array which are not their own: part of an epoch, like who is
/// absent. The placement chooses places; a place's blocks lie on the SSD of its number, on those
/// that stand in for it, or, while its SSD is exchanged, on both.
///
/// Two entries of a place and an SSD, a byte each; an entry of 0 is none, as no SSD stands in for
/// itself. So an array has two SSDs at most that serve elsewhere.
struct stand_ins {
  static constexpr std::uint32_t most = 2;

  std::uint32_t bits = 0;

  GNSTOR_HD constexpr bool any() const { return bits != 0; }
  GNSTOR_HD constexpr bool has(std::uint32_t k) const { return (bits >> 16 * k & 0xffff) != 0; }
  GNSTOR_HD constexpr std::uint32_t place(std::uint32_t k) const { return bits >> 16 * k & 0xff; }
  GNSTOR_HD constexpr std::uint32_t ssd(std::uint32_t k) const {
    return bits >> (16 * k + 8) & 0xff;
  }
  /// The place that an SSD serves at: its own, unless it stands in.
  GNSTOR_HD constexpr std::uint32_t place_of(std::uint32_t who) const {
    return has(0) && ssd(0) == who ? place(0) : has(1) && ssd(1) == who ? place(1) : who;
  }
  /// SSDs, by bit, that stand in for any of some places, by bit.
  GNSTOR_HD constexpr std::uint64_t of(std::uint64_t places) const {
    return one_of(0, places) | one_of(1, places);
  }
  /// All of them.
  GNSTOR_HD constexpr std::uint64_t all() const { return of(~std::uint64_t{0}); }
  /// The entries whose places are among some, by bit.
  GNSTOR_HD constexpr stand_ins within(std::uint64_t places) const {
    return {(one_of(0, places) != 0 ? bits & 0xffff : 0) |
            (one_of(1, places) != 0 ? bits & 0xffff0000 : 0)};
  }
  /// True if another one has room.
  GNSTOR_HD constexpr bool has_room() const { return !has(0) || !has(1); }
  /// With an SSD that stands in for a place. @par Callers where `has_room`
  GNSTOR_HD constexpr stand_ins with(std::uint32_t at, std::uint32_t who) const {
    return {bits | (who << 8 | at) << (has(0) ? 16 : 0)};
  }
  /// Without those that an SSD, of some by bit, serves by.
  GNSTOR_HD constexpr stand_ins without(std::uint64_t ssds) const {
    return {(has(0) && (ssds >> ssd(0) & 1) != 0 ? 0 : bits & 0xffff) |
            (has(1) && (ssds >> ssd(1) & 1) != 0 ? 0 : bits & 0xffff0000)};
  }
  /// True if an array of so many SSDs may have them: each SSD serves at one other place.
  GNSTOR_HD constexpr bool is_sound(std::uint32_t ssds) const {
    return is_sound_entry(0, ssds) && is_sound_entry(1, ssds) &&
           !(has(0) && has(1) && ssd(0) == ssd(1));
  }

  /// True of the same SSDs, in whatever order.
  GNSTOR_HD friend constexpr bool operator==(stand_ins a, stand_ins b) {
    return a.bits == b.bits || a.bits == (b.bits << 16 | b.bits >> 16);
  }

 private:
  GNSTOR_HD constexpr std::uint64_t one_of(std::uint32_t k, std::uint64_t places) const {
    return has(k) && (places >> (place(k) & 63) & 1) != 0 ? std::uint64_t{1} << (ssd(k) & 63) : 0;
  }
  GNSTOR_HD constexpr bool is_sound_entry(std::uint32_t k, std::uint32_t ssds) const {
    return !has(k) || (place(k) < ssds && ssd(k) < ssds && place(k) != ssd(k));
  }
};

static_assert(sizeof(stand_ins) == 4 && std::is_trivially_copyable_v<stand_ins>);
static_assert(max_ssds <= 64 && !stand_ins{}.any() && stand_ins{}.place_of(3) == 3);
static_assert(stand_ins{}.with(2, 5).place_of(5) == 2 && stand_ins{}.with(0, 5).of(1) == 32);
static_assert(stand_ins{}.with(2, 5).with(1, 4).without(32) == stand_ins{0x04010000});
static_assert(stand_ins{}.with(2, 5).with(1, 4) == stand_ins{}.with(1, 4).with(2, 5));
static_assert(!(stand_ins{}.with(2, 5) == stand_ins{}.with(5, 2)));

}  // namespace gnstor::wire::afa

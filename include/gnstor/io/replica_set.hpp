#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/array_limits.hpp>
#include <gnstor/wire/afa/stand_ins.hpp>

namespace gnstor::inline v0 {

using wire::afa::max_replicas;
using wire::afa::max_ssds;

/// Up to `max_replicas` SSDs in one word: a list that is indexed at run time would lie in a lane's
/// local memory.
class ssd_list {
 public:
  GNSTOR_HD constexpr ssd_index operator[](std::uint32_t k) const {
    return ssd_index(static_cast<std::uint16_t>(bytes_ >> 8 * k & 0xff));
  }
  /// The first `count` entries with entry `turn` (below `count`) in front, as a byte each.
  GNSTOR_HD constexpr std::uint64_t rotated(std::uint32_t turn, std::uint32_t count) const {
    return turn == 0 ? bytes_ : bytes_ >> 8 * turn | bytes_ << 8 * (count - turn);
  }
  /// Sets entry `k`, which was not set before.
  GNSTOR_HD constexpr void set(std::uint32_t k, ssd_index ssd) {
    bytes_ |= std::uint64_t{ssd.value} << 8 * k;
  }

 private:
  static_assert(max_replicas <= sizeof(std::uint64_t) && max_ssds <= 256);
  std::uint64_t bytes_ = 0;
};

/// The SSDs that hold one stripe, best first.
struct replica_set {
  std::uint32_t count = 0;
  ssd_list ssd;

  /// Those that are not in a set of SSDs, by bit; in the same order.
  GNSTOR_HD constexpr replica_set without(std::uint64_t ssds) const {
    replica_set kept;
    for (std::uint32_t k = 0; k < count; ++k) {
      if ((ssds >> ssd[k].value & 1) == 0) kept.ssd.set(kept.count++, ssd[k]);
    }
    return kept;
  }
  /// Of places: the SSDs that serve at them, but for some by bit; those that stand in come last.
  /// Where a place has two SSDs both are among them, unless there are `max_replicas` already.
  GNSTOR_HD constexpr replica_set served(wire::afa::stand_ins others, std::uint64_t but) const {
    replica_set kept = without(but);
    for (std::uint32_t k = 0; k < wire::afa::stand_ins::most; ++k) {
      const ssd_index who(static_cast<std::uint16_t>(others.ssd(k)));
      const ssd_index at(static_cast<std::uint16_t>(others.place(k)));
      const bool serves = others.has(k) && (but >> who.value & 1) == 0 && contains(at);
      if (serves && kept.count < max_replicas) kept.ssd.set(kept.count++, who);
    }
    return kept;
  }
  GNSTOR_HD constexpr bool contains(ssd_index who) const {
    for (std::uint32_t k = 0; k < count; ++k) {
      if (ssd[k] == who) return true;
    }
    return false;
  }
};

}  // namespace gnstor::inline v0

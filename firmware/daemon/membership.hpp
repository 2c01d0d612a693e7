#pragma once

#include <gnstor/wire/afa/stand_ins.hpp>

#include <cstdint>

namespace gnstor::daemon {

/// What the array is in the present epoch: what clients address it by.
struct membership {
  std::uint32_t epoch = 1;
  std::uint64_t absent = 0;       ///< by bit: SSDs that take part in nothing
  std::uint64_t filling = 0;      ///< SSDs that take writes and are being given what they lack
  wire::afa::stand_ins others{};  ///< SSDs that serve at places that are not their own

  /// SSDs, by bit, that are in sync.
  std::uint64_t in_sync() const { return ~(absent | filling); }
  /// Places, by bit, at which an SSD in sync serves.
  std::uint64_t sound_places() const {
    std::uint64_t sound = in_sync();
    for (std::uint32_t k = 0; k < wire::afa::stand_ins::most; ++k) {
      if (others.has(k) && (in_sync() >> others.ssd(k) & 1) != 0)
        sound |= std::uint64_t{1} << others.place(k);
    }
    return sound;
  }
  /// SSDs, by bit, that may serve at a place: its own and those that stand in for it.
  std::uint64_t at(std::uint32_t place) const {
    const std::uint64_t own = std::uint64_t{1} << place;
    return own | others.of(own);
  }
};

}  // namespace gnstor::daemon

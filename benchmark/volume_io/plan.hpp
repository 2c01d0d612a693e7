#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>

#include <cstdint>

namespace gnstor::benchmarks {

/// What each lane of a run does with a volume.
struct plan {
  std::uint32_t volume_blocks = 128 * 1024;  ///< a power of two
  std::uint32_t blocks = 1;                  ///< of one operation, a power of two
  std::uint32_t rounds = 1;                  ///< operations per lane
  std::uint32_t random = 0;                  ///< else sequential
  std::uint32_t draw = 0;                    ///< not 0: slots are drawn, each number its own way
  std::uint32_t write_percent = 0;
  std::uint32_t generation = 0;  ///< what writes leave, and what reads of other slots expect
  std::uint32_t whole = 0;       ///< every word is set or compared, not the first and the last of
                                 ///< each block
  const std::uint32_t* generations = nullptr;  ///< of each slot, what reads expect; else
                                               ///< `generation`, everywhere

  /// Operations that visit each slot once.
  GNSTOR_HD std::uint32_t slots() const { return volume_blocks / blocks; }
  /// The operation that is the `number`-th of all lanes'.
  GNSTOR_HD std::uint32_t turn(std::uint32_t number) const { return number & (slots() - 1); }
  /// Whether operation `turn` writes: others in each generation.
  GNSTOR_HD bool writes(std::uint32_t turn) const {
    return mix64(std::uint64_t{generation} << 32 | turn) % 100 < write_percent;
  }
  /// What a read of the slot of `first` should find there.
  GNSTOR_HD std::uint32_t expected(vba first) const {
    return generations == nullptr ? generation : generations[first.value / blocks];
  }
  /// Where operation `turn` goes: no slot is visited twice before all have been, unless they are
  /// drawn.
  GNSTOR_HD vba position(std::uint32_t turn) const {
    if (draw != 0) {
      const std::uint64_t drawn = mix64(std::uint64_t{draw} << 32 | turn);
      return vba(static_cast<std::uint32_t>(drawn & (slots() - 1)) * blocks);
    }
    const std::uint32_t slot = (random != 0 ? turn * 2654435761u : turn) & (slots() - 1);
    return vba(slot * blocks);
  }
};

}  // namespace gnstor::benchmarks

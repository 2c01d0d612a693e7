#pragma once

#include "note_written.hpp"
#include "rig.cuh"

namespace gnstor::benchmarks {

/// What runs that write leave on a filled volume, slot by slot; in GPU memory.
class written_slots {
 public:
  /// @param p by its slots; generation 0 lies everywhere
  explicit written_slots(const plan& p)
      : memory_(host::place::device, p.slots() * sizeof(std::uint32_t)) {}

  /// For `plan::generations` of a run that follows.
  const std::uint32_t* data() const { return words(); }
  /// After a run of `p` by `c`.
  void note(const plan& p, const crew& c) const {
    launch({32, 128, hardware::get().stream()}, note_written{}, p, c.lanes(), words());
  }

 private:
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(memory_.data()); }

  host::memory_block memory_;
};

}  // namespace gnstor::benchmarks

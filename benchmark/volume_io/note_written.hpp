#pragma once

#include "plan.hpp"
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::benchmarks {

/// Notes what `lanes` lanes that carried out `p` by `move_blocks` have left: the generation of each
/// slot that was written. What a write should have left and did not is found by whoever reads with
/// `plan::generations`.
struct note_written {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, plan p, std::uint32_t lanes,
                            std::uint32_t* generations) const {
    const std::uint32_t operations = p.rounds * lanes;
    for (std::uint32_t k = lane.global_thread(); k < operations; k += lane.grid_threads()) {
      const std::uint32_t turn = p.turn(k);
      if (!p.writes(turn)) continue;
      // Slots that are drawn may be drawn twice.
      device_word<std::uint32_t>(generations[p.position(turn).value / p.blocks])
          .store(p.generation, relaxed);
    }
  }
};

}  // namespace gnstor::benchmarks

#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/packet/receive_lane.hpp>

namespace gnstor::inline v0 {

/// The persistent kernel that receives: one thread per descriptor, `turn` threads a block.
struct receive_kernel {
  /// @par Callers every lane of a grid of `path.turns()` blocks of `path.turn` threads
  /// @par Bound until the path stops, and `drain_ns` after that
  template <class Lane, class Receive, class Transmit>
  GNSTOR_HD void operator()(Lane& lane, packet_path<Receive, Transmit> path) const {
    receive_lane<Receive, Transmit> own(path, lane.global_thread());
    std::uint32_t quiet = 0;
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      quiet = own.step() ? 0 : quiet + 1;
      if (own.has_ended()) return;
      if (quiet != 0) simt::pause(quiet);
    }
  }
};

}  // namespace gnstor::inline v0

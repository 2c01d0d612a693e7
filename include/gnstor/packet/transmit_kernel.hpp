#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/packet/transmit_warp.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::inline v0 {

/// The persistent kernel that sends: one thread per descriptor, `turn` threads a block.
struct transmit_kernel {
  /// @par Callers as `receive_kernel`
  /// @par Bound until the last application has ended and the NIC has sent everything, or three
  /// times `drain_ns` after the path was to stop
  template <class Lane, class Receive, class Transmit>
  GNSTOR_HD void operator()(Lane& lane, packet_path<Receive, Transmit> path) const {
    const simt::group g = lane.warp();
    transmit_warp<Receive, Transmit> own(path, lane.global_thread());
    std::uint32_t quiet = 0;
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      quiet = own.step(g) ? 0 : quiet + 1;
      if (own.has_ended()) return;
      if (quiet != 0) simt::pause(quiet);
    }
  }
};

}  // namespace gnstor::inline v0

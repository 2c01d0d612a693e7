#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/packet/source_lane.hpp>

namespace gnstor::inline v0 {

/// The persistent kernel of a source, in the place of the receive kernel: one thread per
/// descriptor.
template <packet_source Source>
struct source_kernel {
  Source source;
  std::uint64_t positions = ~std::uint64_t{0};  ///< so many are given out, then it ends

  /// @par Callers as `receive_kernel`
  /// @par Bound until all positions are given out, or the path stops, and `drain_ns` after that
  template <class Lane, class Receive, class Transmit>
  GNSTOR_HD void operator()(Lane& lane, packet_path<Receive, Transmit> path) const {
    Source own = source;
    source_lane<packet_path<Receive, Transmit>> places(path, lane.global_thread(), positions);
    std::uint32_t quiet = 0;
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      if (places.has_ended()) return;
      quiet = places.fill_next(own, lane, quiet != 0) ? 0 : quiet + 1;
      if (quiet != 0) simt::pause(quiet);
    }
  }
};

}  // namespace gnstor::inline v0

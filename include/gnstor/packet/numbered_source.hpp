#pragma once

#include <gnstor/packet/packet_source.hpp>
#include <gnstor/wire/ethernet/numbered_frame.hpp>

namespace gnstor::inline v0 {

/// A source of numbered frames: its n-th packet has number n. `numbered_sink` at the other end of a
/// wire says whether all came.
struct numbered_source {
  std::uint16_t stream = 0;
  std::uint16_t bytes = wire::ethernet::min_frame_bytes;  ///< of a frame, without check sequence
  wire::ethernet::mac_address from{{2, 0, 0, 0, 2, 0}};
  wire::ethernet::mac_address to{{2, 0, 0, 0, 1, 0}};

  /// @par Callers each lane for its own packets
  /// @par Bound the bytes of a frame
  // [snippet
  template <class Lane>
  GNSTOR_HD bool make(Lane&, packet p, std::uint64_t position) const {
    namespace ether = wire::ethernet;
    if (!p.resize(bytes)) return false;
    ether::numbered_frame::make(p.data(), ether::numbered_frame::labelled(position, stream, bytes));
    auto* const frame = p.header<ether::ethernet_header>(0);
    frame->destination = to;
    frame->source = from;
    return true;
  }
  // snippet]
};

static_assert(packet_source<numbered_source>);

}  // namespace gnstor::inline v0

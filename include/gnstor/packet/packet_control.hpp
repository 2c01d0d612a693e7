#pragma once

#include <gnstor/packet/packet_counters.hpp>

namespace gnstor::inline v0 {

/// The words by which the kernels of a packet path find each other, in memory of their device.
/// Zeroed before the kernels start, but for `stop`; those that are polled have a line each.
struct packet_control {
  static constexpr std::uint32_t most_applications = 8;

  alignas(128) std::uint32_t* stop;           ///< where this CPU and the NIC reach it; not 0:
                                              ///< receive no more, send what there is, end
  alignas(128) std::uint64_t receive_turn;    ///< whose turn it is to write the receive tail
  alignas(128) std::uint64_t send_taken;      ///< `send_place`: from here on nobody sends yet
  alignas(128) std::uint64_t send_filled;     ///< `send_place`: before it descriptors are filled
  std::uint32_t send_rung;                    ///< of who fills next: the descriptor that the tail
                                              ///< register names, counted as in a `send_place`
  std::uint32_t send_quiet;                   ///< likewise: empty positions in a row, at the end
  std::uint32_t send_was_full;                ///< likewise
  alignas(128) std::uint32_t sent_all;        ///< not 0: nothing will be sent any more
  alignas(128) std::uint32_t received_lanes;  ///< receive lanes that have ended
  std::uint32_t applied_lanes[most_applications];  ///< lanes of each application that have ended
  std::uint32_t source_lanes;                      ///< lanes of a source that know of the stop
  std::uint64_t source_end;                        ///< the place where all of them end then
  alignas(128) packet_counters counters;
};

static_assert(std::is_trivial_v<packet_control>);

}  // namespace gnstor::inline v0

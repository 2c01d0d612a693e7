#pragma once

#include <gnstor/packet/packet_control.hpp>
#include <gnstor/packet/packet_pool.hpp>
#include <gnstor/packet/receive_ring.hpp>
#include <gnstor/packet/transmit_ring.hpp>

namespace gnstor::inline v0 {

/// The way of packets from a receive ring, or from a source, through applications to a transmit
/// ring, or to their end: what its kernels share. Passed to them by value.
///
/// A packet's place in the order is its position: `lap * lanes + lane` of who received it. Every
/// stage says by a word per lane how far it has got, so that who sends knows whether a position
/// still has a packet to come, and packets leave in the order in which they came.
/// @tparam Receive, Transmit formats of `wire/intel`
template <class Receive, class Transmit>
struct packet_path {
  receive_ring<Receive> receive;
  transmit_ring<Transmit> transmit;
  packet_pool pool;
  packet_control* control = nullptr;
  std::uint32_t* arrived = nullptr;   ///< per turn: lanes that have armed their descriptor
  std::uint32_t* progress = nullptr;  ///< per stage and lane: laps that are settled
  std::uint32_t* sending = nullptr;   ///< per transmit descriptor: its buffer and 1; 0: none
  std::uint32_t turn = 128;           ///< lanes that share one write of the tail; a power of two
  std::uint32_t applications = 1;     ///< kernels between receive and transmit
  bool sends = true;                  ///< else it ends behind the last application
  std::uint64_t drain_ns = 0;         ///< how long an end may wait for the NIC, twice

  /// Of each kernel; one per descriptor, of both rings.
  GNSTOR_HD std::uint32_t lanes() const { return pool.shape().lanes; }
  GNSTOR_HD std::uint32_t turns() const { return lanes() / turn; }

  /// Laps of a lane that stage `stage` has settled: 0 is the receive kernel or the source,
  /// `k + 1` application `k`.
  GNSTOR_HD atomic_ref<std::uint32_t, packet_pool::scope> settled(std::uint32_t stage,
                                                                  std::uint32_t lane) const {
    return packet_pool::word(progress[stage * lanes() + lane]);
  }
  /// Who has a packet after stage `stage`.
  GNSTOR_HD std::uint32_t owner_after(std::uint32_t stage) const {
    if (stage < applications) return packet_owner::application(stage);
    return sends ? packet_owner::sender : packet_owner::free;
  }
  /// Lanes of stage `stage` that have ended.
  GNSTOR_HD atomic_ref<std::uint32_t, packet_pool::scope> ended(std::uint32_t stage) const {
    return packet_pool::word(stage == 0 ? control->received_lanes
                                        : control->applied_lanes[stage - 1]);
  }
  /// True if stage `stage` has ended on every lane. @par Order acquires what it did
  GNSTOR_HD bool has_ended(std::uint32_t stage) const {
    // Paired with the lanes' fetch_add.
    return ended(stage).load(acquire) == lanes();
  }
  GNSTOR_HD bool must_stop() const {
    return system_word<std::uint32_t>(*control->stop).load(relaxed) != 0;
  }
  GNSTOR_HD void count(packet_cause cause, std::uint64_t n = 1) const {
    control->counters.add(cause, n);
  }
  /// What is wrong with the numbers; null if nothing is. The receive ring needs two turns: the last
  /// descriptor of a turn goes to the NIC with the next one.
  constexpr const char* problem() const {
    const std::uint32_t n = pool.shape().lanes;
    if (!pool.shape().is_valid()) return "buffers must be a multiple of lanes";
    if (turn == 0 || (turn & (turn - 1)) != 0) return "turn must be a power of two";
    if ((n & (n - 1)) != 0 || n < 2 * turn) return "depth must be a power of two of two turns";
    if (receive.depth() != n || transmit.depth() != n) return "both rings have as many as lanes";
    if (applications > packet_control::most_applications) return "at most eight applications";
    return nullptr;
  }
};

}  // namespace gnstor::inline v0

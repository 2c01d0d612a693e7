#pragma once

#include <gnstor/packet/packet_path.hpp>
#include <gnstor/simt/clock.hpp>

namespace gnstor::inline v0 {

/// One lane of a receive kernel: one descriptor, and the buffers of one small pool.
///
/// It arms the descriptor, waits for the NIC's done bit, hands the frame on at once, and arms
/// again. Of the lanes of a turn the last to have armed writes the tail, when the turns before have
/// written theirs. GPU-Ether, section IV.A (Rx-kernel) and Figures 3 and 4.
template <class Receive, class Transmit>
class receive_lane {
 public:
  GNSTOR_HD receive_lane(const packet_path<Receive, Transmit>& path, std::uint32_t lane)
      : path_(path), lane_(lane) {}

  GNSTOR_HD bool has_ended() const { return phase_ == phase::ended; }

  /// Does what can be done now. True if that was anything.
  /// @par Callers each lane for itself
  GNSTOR_HD bool step() {
    switch (phase_) {
      case phase::arming: return arm();
      case phase::waiting: return look();
      case phase::passing: return pass();
      case phase::leaving: return leave();
      default: return false;
    }
  }

 private:
  enum class phase : std::uint8_t { arming, waiting, passing, leaving, ended };

  GNSTOR_HD bool arm() {
    if (buffer_ == packet_pool::none) buffer_ = path_.pool.take(lane_);
    if (buffer_ == packet_pool::none) {
      if (!starves_) path_.count(packet_cause::no_buffer);
      starves_ = true;
      return stops();
    }
    starves_ = false;
    path_.receive.arm(lane_, path_.pool.dma_address(buffer_));
    is_armed_ = true;
    ++armed_;
    phase_ = is_last_of_turn() ? phase::passing : phase::waiting;
    return true;
  }

  /// @par Order the last one acquires the descriptors of all, which the tail then releases
  GNSTOR_HD bool is_last_of_turn() const {
    auto arrived = packet_pool::word(path_.arrived[lane_ / path_.turn]);
    return (arrived.fetch_add(1, acq_rel) + 1) % path_.turn == 0;
  }

  /// Writes the tail when it is this turn's time to. It names the last descriptor of the turn,
  /// which is not the NIC's before the next: head and tail are never equal while there is one.
  GNSTOR_HD bool pass() {
    atomic_ref<std::uint64_t, packet_pool::scope> whose(path_.control->receive_turn);
    const std::uint32_t turn = lane_ / path_.turn;
    const std::uint64_t mine = std::uint64_t{armed_ - 1} * path_.turns() + turn;
    // Paired with the release of who had the turn before.
    if (whose.load(acquire) != mine) return stops();
    path_.receive.write_tail((turn + 1) * path_.turn - 1);
    whose.store(mine + 1, release);
    phase_ = phase::waiting;
    return true;
  }

  GNSTOR_HD bool look() {
    const received_frame f = path_.receive.take(lane_);
    if (!f.is_done) return stops();
    deliver(f);
    phase_ = phase::arming;
    return true;
  }

  /// Hands a good frame on, and keeps the buffer of a bad one; says that the lap is settled.
  GNSTOR_HD void deliver(const received_frame& f) {
    is_armed_ = false;
    const std::uint32_t lap = armed_ - 1;
    const packet_cause outcome = outcome_of(f);
    if (outcome == packet_cause::received) {
      packet_state& s = path_.pool.state(buffer_);
      s.start = 0;
      s.flags = 0;
      s.status = f.status;
      s.hash = f.hash;
      s.hash_type = static_cast<std::uint32_t>(f.hash_type);
      packet_pool::word(s.length).store(f.length, relaxed);
      packet_pool::word(s.lap).store(lap, relaxed);
      path_.pool.hand_over(buffer_, packet_owner::receiver, path_.owner_after(0));
      buffer_ = packet_pool::none;
      path_.count(packet_cause::received_bytes, f.length);
    }
    path_.count(outcome);
    // Paired with the acquire of the next stage, which then sees the hand-over.
    path_.settled(0, lane_).store(lap + 1, release);
  }

  GNSTOR_HD packet_cause outcome_of(const received_frame& f) const {
    using wire::intel::frame_error;
    if (f.error == frame_error::check_sequence) return packet_cause::bad_check_sequence;
    if (f.error == frame_error::length || !f.is_whole || f.length == 0 ||
        f.length > path_.pool.shape().bytes) {
      return packet_cause::bad_length;
    }
    if (f.error == frame_error::checksum) return packet_cause::bad_checksum;
    return f.error == frame_error::none ? packet_cause::received : packet_cause::bad_other;
  }

  /// Begins to leave if the path is to stop.
  GNSTOR_HD bool stops() {
    if (!path_.must_stop()) return false;
    if (lane_ == 0) path_.receive.disable();
    until_ = simt::within(path_.drain_ns);
    phase_ = phase::leaving;
    return true;
  }

  /// Takes the last frame and the armed buffer home, when the NIC has let go of the ring.
  GNSTOR_HD bool leave() {
    const bool kept = path_.receive.is_enabled();
    if (kept && !until_.expired(simt::now_ns())) return false;
    if (is_armed_) {
      const received_frame f = path_.receive.take(lane_);
      if (f.is_done) {
        deliver(f);
      } else if (kept) {
        // The NIC may still write into it: nobody has it any more.
        path_.count(packet_cause::stuck);
        buffer_ = packet_pool::none;
      }
    }
    if (buffer_ != packet_pool::none)
      path_.pool.hand_over(buffer_, packet_owner::receiver, packet_owner::free);
    // Paired with the acquire of `has_ended`.
    path_.ended(0).fetch_add(1, acq_rel);
    phase_ = phase::ended;
    return true;
  }

  packet_path<Receive, Transmit> path_;
  std::uint32_t lane_;
  std::uint32_t buffer_ = packet_pool::none;
  std::uint32_t armed_ = 0;  ///< how often the descriptor was
  phase phase_ = phase::arming;
  bool is_armed_ = false;
  bool starves_ = false;
  deadline until_ = deadline::never();
};

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/packet/packet_path.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/group.hpp>

#include <cuda/std/bit>

namespace gnstor::inline v0 {

/// One warp of a transmit kernel: each lane has the packets of one small pool, and takes back the
/// buffer of one descriptor.
///
/// Warps take turns by the position: who has it sends the packets of its lanes that have come, in
/// order, each to the next descriptor, up to the first lane whose packet is still to come. The tail
/// is written once a turn, and where the warp has to wait. GPU-Ether, section IV.A (Tx-kernel).
template <class Receive, class Transmit>
class transmit_warp {
 public:
  /// @param lane the caller's number in the grid
  GNSTOR_HD transmit_warp(const packet_path<Receive, Transmit>& path, std::uint32_t lane)
      : path_(path), lane_(lane) {}

  GNSTOR_HD bool has_ended() const { return has_ended_; }

  /// Does what can be done now. True if that was anything.
  /// @par Callers every lane of `g`, a whole warp, converged
  GNSTOR_HD bool step(const simt::group& g) {
    const bool freed = take_back();
    if (look_for_end(g)) return false;
    return send(g) || g.any(freed);
  }

 private:
  static constexpr std::uint32_t least_bytes = 17;
  using word32 = atomic_ref<std::uint32_t, packet_pool::scope>;
  using word64 = atomic_ref<std::uint64_t, packet_pool::scope>;

  enum class ending : std::uint8_t {
    none,
    waiting,   ///< for the NIC to send what it has
    disabled,  ///< the NIC was asked to let go of the ring
    over,      ///< and it did not
  };

  /// What a lane has for the position that is its own.
  struct offer {
    std::uint32_t buffer = packet_pool::none;
    bool is_settled = false;  ///< the packet is here, or none will come
    bool is_older = false;    ///< it was held back, and goes beside the lane's position
    bool is_empty = true;     ///< at the end: the lane has no packet, of no position
  };

  /// Gives the buffer of this lane's descriptor back when the NIC has sent it.
  GNSTOR_HD bool take_back() {
    word32 sending = packet_pool::word(path_.sending[lane_]);
    // Paired with the release of who filled the descriptor.
    const std::uint32_t held = sending.load(acquire);
    if (held == 0 || !path_.transmit.is_done(lane_)) return false;
    path_.count(packet_cause::sent);
    path_.count(packet_cause::sent_bytes,
                packet_pool::word(path_.pool.state(held - 1).length).load(relaxed));
    give_back(held - 1);
    return true;
  }
  GNSTOR_HD void give_back(std::uint32_t buffer) {
    path_.pool.hand_over(buffer, packet_owner::sending, packet_owner::free);
    // Paired with the acquire of who fills the descriptor next.
    packet_pool::word(path_.sending[lane_]).store(0, release);
  }

  /// Sends what there is, if it is this warp's turn.
  GNSTOR_HD bool send(const simt::group& g) {
    word64 position(path_.control->send_position);
    std::uint64_t at = 0;
    bool no_more = false;
    if (g.leads()) {
      at = position.load(acquire);
      no_more = path_.has_ended(path_.applications);
    }
    at = g.broadcast(at);
    no_more = g.broadcast(std::uint32_t{no_more}) != 0;
    const std::uint32_t width = g.size();
    if (at / width % (path_.lanes() / width) != lane_ / width) return false;
    g.sync();  // the leader's acquires reach the lanes
    const auto first = static_cast<std::uint32_t>(at % width);
    const offer mine = look(static_cast<std::uint32_t>(at / path_.lanes()), no_more);
    // Lanes from `first` on whose position is decided; the next one may send something older.
    const std::uint32_t decided = g.ballot(mine.is_settled && !mine.is_older) >> first;
    std::uint32_t passed = static_cast<std::uint32_t>(cuda::std::countr_one(decided));
    if (passed > width - first) passed = width - first;
    const std::uint32_t rank = g.thread_rank();
    const bool takes_part =
        rank >= first && (rank < first + passed || (rank == first + passed && mine.is_older));
    const bool has = takes_part && mine.buffer != packet_pool::none;
    const bool sendable = has && is_sendable(mine.buffer);
    const std::uint32_t sent = fill(g, sendable, mine.buffer, first, passed);
    if (has && !sendable && rank <= first + passed) give_up(mine.buffer, packet_cause::unsendable);
    const bool is_empty = g.all(mine.is_empty);
    g.sync();
    if (g.leads()) pass_on(at, passed, sent, no_more && is_empty, first + passed < width);
    g.sync();
    return passed + sent != 0;
  }

  /// A NIC fills a short frame up, but an 82599 takes none of under 17 bytes (so Linux's ixgbe).
  GNSTOR_HD bool is_sendable(std::uint32_t buffer) const {
    const std::uint32_t bytes = packet_pool::word(path_.pool.state(buffer).length).load(relaxed);
    return bytes >= least_bytes && bytes <= Transmit::max_bytes;
  }

  /// @param lap of the position
  GNSTOR_HD offer look(std::uint32_t lap, bool no_more) const {
    offer o;
    // Before the look: what is settled then is in the sender's hands, or has gone.
    const std::uint32_t settled = path_.settled(path_.applications, lane_).load(acquire);
    o.buffer = path_.pool.oldest(lane_, packet_owner::sender, lap + 1);
    const bool is_here = o.buffer != packet_pool::none;
    const std::uint32_t its =
        is_here ? packet_pool::word(path_.pool.state(o.buffer).lap).load(relaxed) : lap;
    o.is_older = its != lap;
    // The packet of this very lap may be seen before it is said to be settled.
    o.is_settled =
        no_more || static_cast<std::int32_t>(settled - lap) > 0 || (is_here && !o.is_older);
    o.is_empty = !no_more || !path_.pool.has_any(lane_, packet_owner::sender);
    return o;
  }

  /// Fills the next descriptors with the buffers of the lanes that want it, as far as there is
  /// room: `passed` is less then.
  /// @return how many
  GNSTOR_HD std::uint32_t fill(const simt::group& g, bool wants, std::uint32_t buffer,
                               std::uint32_t first, std::uint32_t& passed) {
    const std::uint32_t depth = path_.transmit.depth();
    const std::uint32_t lower = (1u << g.thread_rank()) - 1;
    const std::uint32_t wanting = g.ballot(wants);
    const auto before = static_cast<std::uint32_t>(cuda::std::popcount(wanting & lower));
    const std::uint32_t slot = (path_.control->send_tail + before) % depth;
    const bool fits = !wants || (is_free(slot) && is_free((slot + 1) % depth));
    const std::uint32_t refused = g.ballot(!fits);
    const auto limit =
        refused == 0 ? g.size() : static_cast<std::uint32_t>(cuda::std::countr_zero(refused));
    if (first + passed > limit) passed = limit - first;
    if (wants && g.thread_rank() < limit) {
      packet_state& s = path_.pool.state(buffer);
      path_.transmit.fill(slot,
                          path_.pool.dma_address(buffer) +
                              static_cast<std::uint64_t>(static_cast<std::int64_t>(s.start)),
                          packet_pool::word(s.length).load(relaxed));
      path_.pool.hand_over(buffer, packet_owner::sender, packet_owner::sending);
      // Paired with the acquire of `take_back`.
      packet_pool::word(path_.sending[slot]).store(buffer + 1, release);
    }
    if (g.leads()) note_full(refused != 0);
    const std::uint32_t below = limit >= 32 ? ~0u : (1u << limit) - 1;
    return static_cast<std::uint32_t>(cuda::std::popcount(wanting & below));
  }
  GNSTOR_HD bool is_free(std::uint32_t slot) const {
    return packet_pool::word(path_.sending[slot]).load(acquire) == 0;
  }
  GNSTOR_HD void note_full(bool is_full) const {
    if (is_full && path_.control->send_was_full == 0) path_.count(packet_cause::ring_full);
    path_.control->send_was_full = is_full;
  }

  /// Gives the position to whose it is now, and rings where a turn or the packets end.
  /// @par Callers the leader
  /// @par Order releases the descriptors filled to the NIC, and the words beside the position to
  /// the next warp
  GNSTOR_HD void pass_on(std::uint64_t at, std::uint32_t passed, std::uint32_t sent, bool is_empty,
                         bool waits) {
    packet_control& c = *path_.control;
    c.send_tail = (c.send_tail + sent) % path_.transmit.depth();
    const bool ends_turn = passed != 0 && (at + passed) % path_.turn == 0;
    if (c.send_tail != c.send_rung && (ends_turn || waits)) {
      path_.transmit.write_tail(c.send_tail);
      c.send_rung = c.send_tail;
    }
    c.send_quiet = is_empty ? c.send_quiet + passed : 0;
    // All lanes had nothing, one after another, after the last stage has ended.
    if (c.send_quiet >= path_.lanes()) end_sending();
    // Paired with the acquire in `send`.
    if (passed != 0) word64(c.send_position).store(at + passed, release);
    if (until_.expired(simt::now_ns())) end_sending();
  }
  GNSTOR_HD void end_sending() const {
    packet_pool::word(path_.control->sent_all).store(1, release);
  }

  /// True from when nothing is sent any more: then the warp waits for the stages before, gives up
  /// what they still bring, waits for what the NIC has, and in the end makes it let go.
  GNSTOR_HD bool look_for_end(const simt::group& g) {
    bool no_more = false;
    if (g.leads()) {
      note_end();
      no_more = ending_ != ending::none && path_.has_ended(path_.applications);
    }
    const auto now = static_cast<ending>(g.broadcast(static_cast<std::uint32_t>(ending_)));
    if (now == ending::none) return false;
    no_more = g.broadcast(std::uint32_t{no_more}) != 0;
    g.sync();
    if (!no_more) return true;
    give_up_unsent();
    const bool is_home = packet_pool::word(path_.sending[lane_]).load(acquire) == 0;
    const bool is_out = now == ending::disabled && !path_.transmit.is_enabled();
    if (g.all(is_home || is_out || now == ending::over)) leave();
    return true;
  }
  /// @par Callers the leader
  GNSTOR_HD void note_end() {
    const std::uint64_t now = simt::now_ns();
    if (ending_ == ending::none) {
      if (!stops_ && path_.must_stop()) {
        stops_ = true;
        until_ = deadline::after(now, path_.drain_ns);
      }
      // Paired with the release of `end_sending`.
      if (packet_pool::word(path_.control->sent_all).load(acquire) == 0) return;
      ending_ = ending::waiting;
    } else if (!until_.expired(now) || ending_ == ending::over) {
      return;
    } else if (ending_ == ending::disabled) {
      ending_ = ending::over;
    } else {
      path_.transmit.disable();
      ending_ = ending::disabled;
    }
    until_ = deadline::after(now, path_.drain_ns);
  }
  /// What was to be sent and will not be.
  GNSTOR_HD void give_up_unsent() const {
    for (std::uint32_t k = 0; k < path_.pool.shape().per_lane(); ++k) {
      const std::uint32_t b = path_.pool.buffer_of(lane_, k);
      if (path_.pool.is_owned_by(b, packet_owner::sender)) give_up(b, packet_cause::unsent);
    }
  }
  GNSTOR_HD void give_up(std::uint32_t buffer, packet_cause why) const {
    path_.count(why);
    path_.pool.hand_over(buffer, packet_owner::sender, packet_owner::free);
  }
  GNSTOR_HD void leave() {
    has_ended_ = true;
    const std::uint32_t held = packet_pool::word(path_.sending[lane_]).load(acquire);
    if (held == 0 || take_back()) return;
    const bool kept = path_.transmit.is_enabled();
    path_.count(kept ? packet_cause::stuck : packet_cause::unsent);
    if (!kept) give_back(held - 1);
  }

  packet_path<Receive, Transmit> path_;
  std::uint32_t lane_;
  bool has_ended_ = false;
  bool stops_ = false;  ///< the leader's, as what follows: the path is to stop
  ending ending_ = ending::none;
  deadline until_ = deadline::never();
};

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/packet/packet_path.hpp>
#include <gnstor/packet/send_place.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/fence.hpp>
#include <gnstor/simt/group.hpp>

#include <cuda/std/bit>

namespace gnstor::inline v0 {

/// One warp of a transmit kernel: each lane has the packets of one small pool, and takes back the
/// buffer of one descriptor.
///
/// Warps take turns by the position: who has it takes the packets of its lanes that have come, in
/// order, up to the first lane whose packet is still to come, and passes the position on before it
/// has filled their descriptors. What it has filled it says in the same order; the tail is written
/// once a turn, and where the warp has to wait. GPU-Ether, section IV.A (Tx-kernel).
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
    const bool freed = take_back(g);
    if (look_for_end(g)) return false;
    const bool took = !turn_.is_open && take_turn(g);
    const bool filled = turn_.is_open && say_filled(g);
    is_busy_ = took || filled || freed;
    return is_busy_;
  }

 private:
  static constexpr std::uint32_t least_bytes = 17;
  static constexpr std::uint32_t looks = 8;  ///< at a word that another warp is about to store
  using word32 = atomic_ref<std::uint32_t, packet_pool::scope>;
  using word64 = atomic_ref<std::uint64_t, packet_pool::scope>;

  enum class ending : std::uint8_t {
    none,
    waiting,   ///< for the NIC to send what it has
    disabled,  ///< the NIC was asked to let go of the ring
    over,      ///< and it did not
  };

  /// The packet that a lane sends next, looked for before it is its turn.
  struct offer {
    std::uint32_t buffer = packet_pool::none;
    std::uint32_t lap = 0;
    std::uint32_t length = 0;
    std::int32_t start = 0;
  };
  /// What the warp has taken, and has not said to be filled.
  struct taken_turn {
    send_place from{};
    std::uint32_t passed = 0;  ///< positions
    std::uint32_t sent = 0;    ///< packets
    bool is_open = false;
    bool is_empty = false;  ///< at the end: no lane of the warp has a packet, of no position
    bool waits = false;     ///< it did not come to its last lane
    bool was_full = false;
  };

  /// Gives the buffers of the lanes' descriptors back that the NIC has sent.
  GNSTOR_HD bool take_back(const simt::group& g) {
    // Paired with the release of who filled the descriptor.
    const std::uint32_t held = packet_pool::word(path_.sending[lane_]).load(acquire);
    const bool is_done = held != 0 && path_.transmit.is_done(lane_);
    const std::uint32_t done = g.count(is_done);
    if (done == 0) return false;
    std::uint32_t bytes =
        is_done ? packet_pool::word(path_.pool.state(held - 1).length).load(relaxed) : 0;
    if (is_done) give_back(held - 1);
    for (std::uint32_t step = 1; step < g.size(); step *= 2)
      bytes += g.shfl(bytes, static_cast<int>((g.thread_rank() + step) % g.size()));
    if (g.leads()) {
      path_.count(packet_cause::sent, done);
      path_.count(packet_cause::sent_bytes, bytes);
    }
    return true;
  }
  GNSTOR_HD void give_back(std::uint32_t buffer) {
    path_.pool.hand_over(buffer, packet_owner::sending, packet_owner::free);
    // Paired with the acquire of who fills the descriptor next.
    packet_pool::word(path_.sending[lane_]).store(0, release);
  }

  /// Looks for the packet that comes next, where none was found before.
  GNSTOR_HD void look_ahead() {
    if (next_.buffer != packet_pool::none) return;
    // Before the look: what is settled then is in the sender's hands, or has gone.
    settled_ = path_.settled(path_.applications, lane_).load(acquire);
    next_.buffer = path_.pool.oldest(lane_, packet_owner::sender, settled_);
    if (next_.buffer == packet_pool::none) return;
    packet_state& s = path_.pool.state(next_.buffer);
    next_.lap = packet_pool::word(s.lap).load(relaxed);
    next_.length = packet_pool::word(s.length).load(relaxed);
    next_.start = s.start;
  }

  /// Takes what there is to send, if it is this warp's turn, passes the position on, and fills the
  /// descriptors.
  GNSTOR_HD bool take_turn(const simt::group& g) {
    bool no_more = false;
    if (!is_busy_) {
      if (g.leads()) no_more = path_.has_ended(path_.applications);
      no_more = g.broadcast(std::uint32_t{no_more}) != 0;
      g.sync();  // the leader's acquire reaches the lanes
    }
    look_ahead();
    std::uint64_t taken = 0;
    std::uint64_t filled = 0;
    if (g.leads()) {
      // Paired with the release of `fill_next`: what is filled by then is marked in `sending`.
      filled = word64(path_.control->send_filled).load(acquire);
      taken = await_turn(g.size());
      if (is_late() && is_mine(send_place::unpack(taken), g.size()))
        taken = end_late(taken, filled, g.size());
    }
    const send_place at = send_place::unpack(g.broadcast(taken));
    const send_place marked = send_place::unpack(g.broadcast(filled));
    if (!is_mine(at, g.size())) return false;
    g.sync();  // likewise
    decide(g, at, marked, no_more);
    return turn_.is_open;
  }

  /// The time to end is over: who has the turn keeps it, so that nobody takes any more, and ends
  /// once all that was taken is filled. Else a warp could fill descriptors of one that has left.
  /// @return a place of another warp's
  /// @par Callers the leader, where the turn is its warp's
  GNSTOR_HD std::uint64_t end_late(std::uint64_t taken, std::uint64_t filled, std::uint32_t width) {
    if (filled == taken) {
      ring(send_place::unpack(filled).descriptor);
      end_sending();
    }
    return send_place{lane_ + width}.pack();  // there are two turns at least
  }
  /// What `send_taken` says, which may become this warp's turn in a moment.
  /// @par Callers the leader
  GNSTOR_HD std::uint64_t await_turn(std::uint32_t width) const {
    word64 word(path_.control->send_taken);
    std::uint64_t now = word.load(relaxed);
    for (std::uint32_t k = 1; k < looks; ++k) {
      const auto first = static_cast<std::uint32_t>(send_place::unpack(now).position) & last_lane();
      const std::uint32_t before = ((lane_ | (width - 1)) - first) & last_lane();
      if (before < width || before >= 2 * width) break;
      now = word.load(relaxed);
    }
    return now;
  }
  /// All numbers of lanes are below a power of two.
  GNSTOR_HD std::uint32_t last_lane() const { return path_.lanes() - 1; }
  GNSTOR_HD bool is_mine(const send_place& at, std::uint32_t width) const {
    const std::uint32_t lane = static_cast<std::uint32_t>(at.position) & last_lane();
    return ((lane ^ lane_) & ~(width - 1)) == 0;
  }

  /// Decides which of the lanes' packets are sent now, from position `at` on.
  /// @param marked up to where descriptors are filled, at least
  GNSTOR_HD void decide(const simt::group& g, const send_place& at, const send_place& marked,
                        bool no_more) {
    const std::uint32_t width = g.size();
    const std::uint32_t rank = g.thread_rank();
    const auto first = static_cast<std::uint32_t>(at.position) & (width - 1);
    const auto lap = static_cast<std::uint32_t>(
        at.position >> static_cast<std::uint32_t>(cuda::std::countr_zero(path_.lanes())));
    const bool has_any = next_.buffer != packet_pool::none;
    const auto ahead = static_cast<std::int32_t>((has_any ? next_.lap : settled_ - 1) - lap);
    // One that was held back goes beside the lane's position.
    const bool is_older = has_any && ahead < 0;
    const bool is_settled = no_more || (ahead >= 0 && !is_older);
    const std::uint32_t decided = g.ballot(is_settled && !is_older) >> first;
    auto passed = static_cast<std::uint32_t>(cuda::std::countr_one(decided));
    if (passed > width - first) passed = width - first;
    const bool takes_part =
        rank >= first && (rank < first + passed || (rank == first + passed && is_older));
    const bool has = takes_part && has_any && ahead <= 0;
    const bool sendable = has && is_sendable();
    const std::uint32_t sent = place(g, at, marked, sendable, first, passed);
    const bool is_empty = no_more && !has_any && !path_.pool.has_any(lane_, packet_owner::sender);
    turn_.is_empty = g.all(is_empty);
    turn_.from = at;
    turn_.passed = passed;
    turn_.sent = sent;
    turn_.waits = first + passed < width;
    turn_.is_open = passed + sent != 0;
    if (has && !sendable && rank <= first + passed) {
      give_up(next_.buffer, packet_cause::unsendable);
      next_.buffer = packet_pool::none;
    }
    if (!turn_.is_open && g.leads()) ring_what_is_filled(marked);
  }

  /// A NIC fills a short frame up, but an 82599 takes none of under 17 bytes (so Linux's ixgbe).
  GNSTOR_HD bool is_sendable() const {
    return next_.length >= least_bytes && next_.length <= Transmit::max_bytes;
  }

  /// Gives the next descriptors to the lanes that want one, as far as there is room: `passed` is
  /// less then. Passes the position on, and fills them.
  /// @return how many
  GNSTOR_HD std::uint32_t place(const simt::group& g, const send_place& at,
                                const send_place& marked, bool wants, std::uint32_t first,
                                std::uint32_t& passed) {
    const std::uint32_t depth = path_.transmit.depth();
    const std::uint32_t lower = (1u << g.thread_rank()) - 1;
    const std::uint32_t wanting = g.ballot(wants);
    const auto before = static_cast<std::uint32_t>(cuda::std::popcount(wanting & lower));
    // Those that others have taken may not be marked yet.
    const std::uint32_t unmarked =
        static_cast<std::uint16_t>(at.descriptor - marked.descriptor) + before;
    const std::uint32_t slot = (at.descriptor + before) & (depth - 1);
    const bool fits = !wants || (unmarked + 2 <= depth && has_room(slot));
    const std::uint32_t refused = g.ballot(!fits);
    const auto limit =
        refused == 0 ? g.size() : static_cast<std::uint32_t>(cuda::std::countr_zero(refused));
    if (first + passed > limit) passed = limit - first;
    const std::uint32_t below = limit >= 32 ? ~0u : (1u << limit) - 1;
    const auto sent = static_cast<std::uint32_t>(cuda::std::popcount(wanting & below));
    turn_.was_full = refused != 0;
    // No order: the next warp needs nothing but the place.
    if (g.leads() && passed + sent != 0)
      word64(path_.control->send_taken).store(at.after(passed, sent).pack(), relaxed);
    // Paired with the release of `give_back`.
    simt::fence<packet_pool::scope>(acquire);
    if (wants && g.thread_rank() < limit) fill(slot);
    return sent;
  }
  /// One descriptor stays free: of a tail that comes to the head a NIC says that there is nothing.
  GNSTOR_HD bool has_room(std::uint32_t slot) const {
    return is_free(slot) && is_free((slot + 1) & (path_.transmit.depth() - 1));
  }
  GNSTOR_HD bool is_free(std::uint32_t slot) const {
    return packet_pool::word(path_.sending[slot]).load(relaxed) == 0;
  }
  GNSTOR_HD void fill(std::uint32_t slot) {
    const std::uint64_t frame = path_.pool.dma_address(next_.buffer) +
                                static_cast<std::uint64_t>(std::int64_t{next_.start});
    path_.transmit.fill(slot, frame, next_.length);
    path_.pool.hand_over(next_.buffer, packet_owner::sender, packet_owner::sending);
    // Paired with the acquire of `take_back`.
    packet_pool::word(path_.sending[slot]).store(next_.buffer + 1, release);
    next_.buffer = packet_pool::none;
  }

  /// Says that the descriptors of this warp's turn are filled, behind those of the turns before.
  GNSTOR_HD bool say_filled(const simt::group& g) {
    g.sync();  // what the lanes have filled, before the leader says so
    bool is_said = false;
    if (g.leads()) is_said = fill_next();
    is_said = g.broadcast(std::uint32_t{is_said}) != 0;
    if (is_said) turn_.is_open = false;
    return is_said;
  }
  /// @par Callers the leader
  /// @par Order releases the descriptors filled to the NIC, and the words beside `send_filled` to
  /// the next warp
  GNSTOR_HD bool fill_next() {
    packet_control& c = *path_.control;
    word64 filled(c.send_filled);
    std::uint64_t now = filled.load(acquire);
    for (std::uint32_t k = 1; k < looks && now != turn_.from.pack(); ++k)
      now = filled.load(acquire);
    if (now != turn_.from.pack()) return false;
    const send_place next = turn_.from.after(turn_.passed, turn_.sent);
    note_full(turn_.was_full);
    const bool ends_turn = turn_.passed != 0 && (next.position & (path_.turn - 1)) == 0;
    if (ends_turn || turn_.waits) ring(next.descriptor);
    c.send_quiet = turn_.is_empty ? c.send_quiet + turn_.passed : 0;
    // All lanes had nothing, one after another, after the last stage has ended.
    if (c.send_quiet >= path_.lanes()) end_sending();
    // Paired with the acquire above, and in `take_turn`.
    filled.store(next.pack(), release);
    return true;
  }
  /// Of who has the turn and nothing to send: nobody else is to ring soon.
  /// @par Callers the leader
  GNSTOR_HD void ring_what_is_filled(const send_place& marked) {
    if (marked.pack() != turn_.from.pack()) return;
    note_full(turn_.was_full);
    ring(marked.descriptor);
  }
  /// Writes the tail if there is anything behind it.
  /// @par Callers as the words beside `send_filled`
  GNSTOR_HD void ring(std::uint16_t descriptor) const {
    if (descriptor == path_.control->send_rung) return;
    path_.transmit.write_tail(descriptor & (path_.transmit.depth() - 1));
    path_.control->send_rung = descriptor;
  }
  GNSTOR_HD void note_full(bool is_full) const {
    if (is_full && path_.control->send_was_full == 0) path_.count(packet_cause::ring_full);
    path_.control->send_was_full = is_full;
  }
  GNSTOR_HD bool is_late() const { return stops_ && until_.expired(simt::now_ns()); }
  GNSTOR_HD void end_sending() const {
    packet_pool::word(path_.control->sent_all).store(1, release);
  }

  /// True from when nothing is sent any more: then the warp waits for the stages before, gives up
  /// what they still bring, waits for what the NIC has, and in the end makes it let go.
  GNSTOR_HD bool look_for_end(const simt::group& g) {
    // A busy warp looks seldom.
    if (is_busy_ && ++steps_ % 16 != 0) return false;
    bool no_more = false;
    if (g.leads()) {
      note_end();
      no_more = ending_ != ending::none && path_.has_ended(path_.applications);
    }
    const auto now = static_cast<ending>(g.broadcast(static_cast<std::uint32_t>(ending_)));
    if (now == ending::none) return false;
    is_busy_ = false;
    no_more = g.broadcast(std::uint32_t{no_more}) != 0;
    g.sync();
    if (!no_more) return true;
    give_up_unsent();
    const bool is_home = packet_pool::word(path_.sending[lane_]).load(acquire) == 0;
    const bool is_out = now == ending::disabled && !path_.transmit.is_enabled();
    if (g.all(is_home || is_out || now == ending::over)) leave(g);
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
  GNSTOR_HD void leave(const simt::group& g) {
    has_ended_ = true;
    take_back(g);
    const std::uint32_t held = packet_pool::word(path_.sending[lane_]).load(acquire);
    if (held == 0) return;
    const bool kept = path_.transmit.is_enabled();
    path_.count(kept ? packet_cause::stuck : packet_cause::unsent);
    if (!kept) give_back(held - 1);
  }

  packet_path<Receive, Transmit> path_;
  std::uint32_t lane_;
  offer next_;
  std::uint32_t settled_ = 0;  ///< laps of this lane that were, when it found nothing to send
  taken_turn turn_;
  std::uint32_t steps_ = 0;
  bool is_busy_ = false;  ///< the last step did something
  bool has_ended_ = false;
  bool stops_ = false;  ///< the leader's, as what follows: the path is to stop
  ending ending_ = ending::none;
  deadline until_ = deadline::never();
};

}  // namespace gnstor::inline v0

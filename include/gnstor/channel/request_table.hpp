#pragma once

#include <gnstor/channel/slot_bitmap.hpp>
#include <gnstor/channel/slot_patience.hpp>
#include <gnstor/channel/ticket.hpp>
#include <gnstor/core/assert.hpp>

#include <type_traits>

namespace gnstor::detail {

/// One request in flight: its phase and generation, and how it ended.
struct alignas(32) request_slot {
  std::uint64_t phase;    ///< generation << 8 | request_phase
  std::uint64_t outcome;  ///< `status::pack()`, valid once the phase is `done`
  std::uint64_t value;    ///< dwords 0 and 1 of the response
  std::uint64_t index;    ///< `request_position` of the request
};

/// Where a request went out, and who gets its answer.
struct request_position {
  std::uint64_t index = 0;  ///< send queue index
  bool continued = false;   ///< its answer is collected by `take_answered`; nobody waits for it

  GNSTOR_HD constexpr std::uint64_t pack() const {
    return index | static_cast<std::uint64_t>(continued) << 63;
  }
  GNSTOR_HD static constexpr request_position unpack(std::uint64_t word) {
    return {word << 1 >> 1, word >> 63 != 0};
  }
};

/// The life of a request slot.
enum class request_phase : std::uint8_t {
  free = 0,
  pending,    ///< sent; somebody waits or will wait
  answering,  ///< one lane writes the outcome; a duplicate of the answer finds the request taken
  done,       ///< answered; the outcome is there
  abandoned,  ///< the waiter gave up; the slot and its buffer stay taken until the late completion
              ///< or a reset
  abandoned_answering,  ///< the waiter gave up while a lane was answering: that lane frees the slot
};

/// What a channel remembers about its requests in flight, by command id.
///
/// A command id is slot | generation << log2(slots): when a slot is used again its id differs, so
/// that a late or duplicated completion is recognised and dropped. Claim and completion are single
/// atomic steps; nothing waits.
template <thread_scope Scope>
class request_table {
  using bitmap = slot_bitmap<Scope>;

 public:
  /// Lanes insist on slots for all of them for so long at most; halved at most so often.
  static constexpr std::uint64_t most_patience_ns = 32'000'000;
  static constexpr std::uint32_t most_halvings = 7;

  /// What an answer met.
  enum class answer : std::uint8_t { delivered, late, unknown };

  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t slots) {
    return slots * sizeof(request_slot) + 2 * bitmap::bytes(slots) + 2 * sizeof(std::uint32_t);
  }

  /// @param memory zero-filled, `bytes(slots)` long; @param slots a power of two, 2 to 32768
  GNSTOR_HD request_table(void* memory, std::uint32_t slots)
      : slots_(static_cast<request_slot*>(memory)), mask_(slots - 1) {}

  /// Claims a slot and gives it a fresh command id, or would_block if every slot is taken.
  /// @par Callers any lane
  /// @par Order acquires what `finish` released: the slot's former owner is done with it
  /// @param hopes, alone as in `slot_bitmap::claim`
  /// @par Bound that of `slot_bitmap::claim`
  GNSTOR_HD result<ticket> claim(bool hopes = true, bool alone = false) const {
    const result<std::uint32_t> slot = taken().claim(hopes, alone);
    if (!slot) return slot.status;
    return open_slot(slot.value);
  }
  /// Claims slots for the lanes of `g`: for all of them at once, by a single step, or, while they
  /// are patient, for none. Slots handed out one at a time would tear warps apart for good, and
  /// many small groups cost the channel and the NIC as much as so many whole warps.
  ///
  /// Where patience has ended, or slots are kept by requests that were given up, each lane takes
  /// what there is.
  /// @par Callers every lane of `g`, converged; the leader's patience counts, and that of lanes
  /// that have none
  /// @par Order as `claim`
  GNSTOR_HD result<ticket> claim(const simt::group& g, slot_patience p) const {
    const bool looks = p.waited_ns != 0;
    typename bitmap::run got;
    std::uint32_t each = 0;
    if (g.leads() && g.size() == 1) each = !looks || taken().any_clear() ? 1 : 0;
    if (g.leads() && g.size() > 1) {
      got = taken().claim_run(g.size() <= mask_ ? g.size() : mask_ + 1, !looks);
      if (looks && (given_up().load(relaxed) != 0 || ends(p, got.bits != 0))) each = 1;
    }
    got.bits = g.broadcast(got.bits);
    got.word = g.broadcast(got.word);
    each = g.broadcast(each);
    g.sync();  // what the leader has acquired
    if (g.thread_rank() < got.size()) return open_slot(got.slot(g.thread_rank()));
    if (each == 0 && p.most_ns != 0)
      return status::make(status_code::would_block, reporter::channel);
    return claim(!looks, g.size() == 1 && p.most_ns != 0);
  }

  /// How long lanes that find no room now should insist on slots for all of them: halved whenever
  /// that was in vain, until it is worth it again. It holds for all their attempts: were it taken
  /// back, all who wait would tear the slots apart at once.
  GNSTOR_HD std::uint64_t patience_ns() const {
    return most_patience_ns >> (halvings().load(relaxed) & most_halvings);
  }

  /// Gives back a claimed slot whose request was never sent.
  GNSTOR_HD void cancel(ticket t) const {
    const std::uint32_t index = index_of(t.id);
    free_slot(index, word(slots_[index].phase).load(relaxed));
  }

  /// Notes where a claimed request goes out. Before it is published.
  GNSTOR_HD void remember(ticket t, request_position where) const {
    word(slots_[index_of(t.id)].index).store(where.pack(), relaxed);
  }

  /// Where request `id` went out, if `id` is in flight.
  GNSTOR_HD result<request_position> recall(command_id id) const {
    request_slot& slot = slots_[index_of(id)];
    // Relaxed: who answers has received the request, and so what was written before it was sent. A
    // duplicate may meet the index of the slot's next request: with as many slots as send entries,
    // everything before that one has been answered.
    const std::uint64_t phase = word(slot.phase).load(relaxed);
    const std::uint64_t index = word(slot.index).load(relaxed);
    if (!same_id(phase, id)) return status::make(status_code::out_of_range, reporter::channel);
    return request_position::unpack(index);
  }

  /// Delivers the answer to request `id`. Of an answer and its duplicates one is delivered, the
  /// others are unknown.
  /// @param continued what `recall` said; the answer then goes to `take_answered`
  /// @par Callers any lane that polled the completion
  /// @par Order releases the outcome, and the payload the caller acquired, to `take`
  GNSTOR_HD answer complete(command_id id, status outcome, std::uint64_t value,
                            bool continued = false) const {
    request_slot& slot = slots_[index_of(id)];
    std::uint64_t phase = word(slot.phase).load(relaxed);
    for (bounded tries{2}; tries && same_id(phase, id);) {
      if (phase_of(phase) == request_phase::pending) {
        if (move(slot, phase, request_phase::answering, relaxed))
          return finish(slot, phase, outcome, value, continued);
      } else if (phase_of(phase) == request_phase::abandoned) {
        if (move(slot, phase, request_phase::free, acq_rel)) {
          taken().clear(index_of(id));
          given_up().fetch_sub(1, relaxed);
          return answer::late;
        }
      }
    }
    return answer::unknown;
  }

  /// Ends request `t`, whose answer its owner has taken from the queue itself; its slot is free
  /// afterwards. Of an answer and its duplicates one ends it.
  /// @param retire `retire(index)` lets the send queue's entry go, before the slot is free
  /// @par Callers the owner of the ticket
  /// @par Result false if another lane has answered, or does
  template <class Retire>
  GNSTOR_HD bool take_own(ticket t, const Retire& retire) const {
    const std::uint32_t at = index_of(t.id);
    request_slot& slot = slots_[at];
    std::uint64_t phase = word(slot.phase).load(relaxed);
    const auto sent = request_position::unpack(word(slot.index).load(relaxed));
    GNSTOR_ASSERT(same_id(phase, t.id));
    if (phase_of(phase) != request_phase::pending) return false;
    retire(sent.index);
    if (!move(slot, phase, request_phase::free, relaxed)) return false;
    taken().clear(at);
    return true;
  }

  /// The outcome of the request if it is answered, or would_block. An answered request's slot is
  /// free afterwards.
  /// @par Callers the owner of the ticket
  /// @par Order acquires what `complete` released
  GNSTOR_HD status take(ticket t, std::uint32_t* value = nullptr) const {
    std::uint64_t both = 0;
    const status outcome = take_wide(t, &both);
    if (value != nullptr && outcome.code != status_code::would_block)
      *value = static_cast<std::uint32_t>(both);
    return outcome;
  }
  /// As `take`, with both dwords of the response.
  GNSTOR_HD status take_wide(ticket t, std::uint64_t* value) const {
    request_slot& slot = slots_[index_of(t.id)];
    const std::uint64_t phase = word(slot.phase).load(acquire);
    GNSTOR_ASSERT(same_id(phase, t.id));
    if (phase_of(phase) != request_phase::done)
      return status::make(status_code::would_block, reporter::channel);
    const status outcome = status::unpack(word(slot.outcome).load(relaxed));
    if (value != nullptr) *value = word(slot.value).load(relaxed);
    free_slot(index_of(t.id), phase);
    return outcome;
  }

  /// A continued request that is answered, or would_block if there is none. It is the caller's
  /// alone until it is freed by `take`.
  /// @par Callers any lane
  /// @par Order acquires what `complete` released
  GNSTOR_HD result<ticket> take_answered() const {
    const result<std::uint32_t> slot = answered().take();
    if (!slot) return slot.status;
    return ticket_of(slot.value);
  }
  /// How an answered request ended; it keeps its slot.
  /// @par Callers who has it from `take_answered`
  GNSTOR_HD status outcome(ticket t) const {
    return status::unpack(word(slots_[index_of(t.id)].outcome).load(relaxed));
  }
  /// Turns an answered request into a new one in the same slot, under a fresh command id.
  /// @par Callers as `outcome`
  GNSTOR_HD ticket renew(ticket t) const { return open_slot(index_of(t.id)); }
  /// Gives a renewed request that could not be sent back to `take_answered`, with its old outcome.
  GNSTOR_HD void put_back(ticket t) const {
    request_slot& slot = slots_[index_of(t.id)];
    // Relaxed: the bit below releases it.
    word(slot.phase).store(with(word(slot.phase).load(relaxed), request_phase::done), relaxed);
    answered().set(index_of(t.id));
  }

  /// The phase word of slot `slot` if a request is pending there, else 0: what `abandon_exactly`
  /// compares.
  GNSTOR_HD std::uint64_t pending_phase(std::uint32_t slot) const {
    const std::uint64_t phase = word(slots_[slot].phase).load(acquire);
    return phase_of(phase) == request_phase::pending ? phase : 0;
  }
  /// Gives up on the request that is pending in `slot`, if it still is the one of `phase`.
  GNSTOR_HD bool abandon_exactly(std::uint32_t slot, std::uint64_t phase) const {
    if (!move(slots_[slot], phase, request_phase::abandoned, acq_rel)) return false;
    given_up().fetch_add(1, relaxed);
    return true;
  }
  /// The slot of a claimed request, below the number of slots, and its phase word.
  GNSTOR_HD std::uint32_t slot_of(ticket t) const { return index_of(t.id); }
  GNSTOR_HD std::uint64_t phase_word(ticket t) const {
    return word(slots_[index_of(t.id)].phase).load(relaxed);
  }
  /// The request in `slot`, which is claimed and stays so.
  GNSTOR_HD ticket ticket_of(std::uint32_t slot) const {
    return ticket{command_id(id_bits(word(slots_[slot].phase).load(relaxed) >> 8, slot))};
  }

  /// Gives up on a request. True if it was still unanswered: its slot stays taken until the late
  /// completion.
  GNSTOR_HD bool abandon(ticket t) const {
    request_slot& slot = slots_[index_of(t.id)];
    std::uint64_t phase = word(slot.phase).load(acquire);
    for (bounded tries{2}; tries;) {
      if (phase_of(phase) == request_phase::pending) {
        if (move(slot, phase, request_phase::abandoned, acq_rel)) {
          given_up().fetch_add(1, relaxed);
          return true;
        }
      } else if (phase_of(phase) == request_phase::answering) {
        if (move(slot, phase, request_phase::abandoned_answering, acq_rel)) return true;
      }
    }
    return false;
  }

  /// Frees the slot of a request given up whose answer cannot come any more. False if somebody
  /// else did. Its id is not the next one's: the generation goes on.
  GNSTOR_HD bool reclaim(ticket t) const {
    const std::uint64_t phase = word(slots_[index_of(t.id)].phase).load(relaxed);
    return same_id(phase, t.id) && reclaim_slot(index_of(t.id), phase);
  }
  /// Frees the slots of all requests given up: no answer to any of them can come any more.
  /// @par Callers one lane, after the queue pair was torn down and drained
  GNSTOR_HD void reclaim_all() const {
    for (std::uint32_t k = 0; k <= mask_; ++k)
      (void)reclaim_slot(k, word(slots_[k].phase).load(relaxed));
  }

  /// Frees every slot, whatever became of its request.
  /// @par Callers one lane, while nobody else uses the table
  GNSTOR_HD void free_all() const {
    for (std::uint32_t k = 0; k <= mask_; ++k) {
      const std::uint64_t phase = word(slots_[k].phase).load(relaxed);
      if (phase_of(phase) == request_phase::free) continue;
      answered().clear(k);
      free_slot(k, phase);
    }
  }

  /// Requests in flight or abandoned, for figures.
  GNSTOR_HD std::uint32_t in_use() const { return taken().count(); }

 private:
  GNSTOR_HD static atomic_ref<std::uint64_t, Scope> word(std::uint64_t& w) {
    return atomic_ref<std::uint64_t, Scope>(w);
  }
  GNSTOR_HD static constexpr request_phase phase_of(std::uint64_t p) {
    return static_cast<request_phase>(p & 0xff);
  }
  GNSTOR_HD static constexpr std::uint64_t with(std::uint64_t p, request_phase to) {
    return (p & ~std::uint64_t{0xff}) | static_cast<std::uint64_t>(to);
  }
  GNSTOR_HD std::uint32_t index_of(command_id id) const { return id.value & mask_; }
  /// Identifiers compare by the bits above the slot.
  GNSTOR_HD bool same_id(std::uint64_t phase, command_id id) const {
    return (id_bits(phase >> 8, index_of(id)) == id.value);
  }
  GNSTOR_HD std::uint16_t id_bits(std::uint64_t generation, std::uint32_t slot) const {
    return static_cast<std::uint16_t>(generation * (std::uint64_t{mask_} + 1) + slot);
  }
  GNSTOR_HD std::uint32_t* behind_slots() const {
    return reinterpret_cast<std::uint32_t*>(slots_ + mask_ + 1);
  }
  /// Slots in use.
  GNSTOR_HD bitmap taken() const { return bitmap(behind_slots(), mask_ + 1); }
  /// Slots of requests given up whose answer may still come.
  GNSTOR_HD atomic_ref<std::uint32_t, Scope> given_up() const {
    return atomic_ref<std::uint32_t, Scope>(behind_slots()[2 * bitmap::bytes(mask_ + 1) / 4]);
  }
  /// How often patience was in vain since it last was not.
  GNSTOR_HD atomic_ref<std::uint32_t, Scope> halvings() const {
    return atomic_ref<std::uint32_t, Scope>(behind_slots()[2 * bitmap::bytes(mask_ + 1) / 4 + 1]);
  }
  /// Slots of continued requests that are answered.
  GNSTOR_HD bitmap answered() const {
    return bitmap(behind_slots() + bitmap::bytes(mask_ + 1) / 4, mask_ + 1);
  }

  /// True if patience `p` is over; learns whether that of others is worth it.
  GNSTOR_HD bool ends(const slot_patience& p, bool found) const {
    const bool over = p.waited_ns >= p.most_ns;
    const std::uint32_t now = halvings().load(relaxed);
    if (found) {
      if (now != 0) halvings().store(0, relaxed);
    } else if (over && p.before_ns < p.most_ns && !p.by_deadline && now < most_halvings) {
      halvings().store(now + 1, relaxed);
    }
    return over;
  }
  GNSTOR_HD ticket open_slot(std::uint32_t index) const {
    const std::uint64_t generation = (word(slots_[index].phase).load(relaxed) >> 8) + 1;
    // Relaxed, as `remember`: the request's own publication carries both to who answers it.
    word(slots_[index].phase)
        .store(generation << 8 | static_cast<std::uint64_t>(request_phase::pending), relaxed);
    return ticket{command_id(id_bits(generation, index))};
  }
  /// Moves a slot from `phase` to the phase `to` of the same generation. On failure `phase` is what
  /// was there.
  GNSTOR_HD static bool move(request_slot& slot, std::uint64_t& phase, request_phase to,
                             memory_order order) {
    const std::uint64_t next = with(phase, to);
    if (!word(slot.phase).compare_exchange(phase, next, order)) return false;
    phase = next;
    return true;
  }
  /// Writes the outcome of a request that this lane is `answering`.
  GNSTOR_HD answer finish(request_slot& slot, std::uint64_t phase, status outcome,
                          std::uint64_t value, bool continued) const {
    word(slot.outcome).store(outcome.pack(), relaxed);
    word(slot.value).store(value, relaxed);
    const auto index = static_cast<std::uint32_t>(&slot - slots_);
    // Paired with the acquire load in `take`.
    if (move(slot, phase, request_phase::done, release)) {
      if (continued) answered().set(index);
      return answer::delivered;
    }
    free_slot(index, phase);
    return answer::late;
  }
  GNSTOR_HD void free_slot(std::uint32_t index, std::uint64_t phase) const {
    word(slots_[index].phase).store(with(phase, request_phase::free), relaxed);
    // Paired with the acquire in `claim`.
    taken().clear(index);
  }
  GNSTOR_HD bool reclaim_slot(std::uint32_t index, std::uint64_t phase) const {
    if (phase_of(phase) != request_phase::abandoned) return false;
    if (!move(slots_[index], phase, request_phase::free, acq_rel)) return false;
    taken().clear(index);
    given_up().fetch_sub(1, relaxed);
    return true;
  }

  request_slot* slots_;
  std::uint32_t mask_;
};

static_assert(std::is_trivially_copyable_v<request_table<thread_scope_device>>);

}  // namespace gnstor::detail

#pragma once

#include <gnstor/channel/ticket.hpp>
#include <gnstor/core/assert.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/group.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// One request in flight: its phase and generation, and how it ended.
struct alignas(32) request_slot {
  std::uint64_t phase;    ///< generation << 8 | request_phase
  std::uint64_t outcome;  ///< `status::pack()`, valid once the phase is `done`
  std::uint64_t value;    ///< dwords 0 and 1 of the response
  std::uint64_t index;    ///< send queue index of the request
};

/// The life of a request slot.
enum class request_phase : std::uint8_t {
  free = 0,
  pending,    ///< sent; somebody waits or will wait
  answering,  ///< one lane writes the outcome; a duplicate of the answer finds the request taken
  done,       ///< answered; the outcome is there
  abandoned,  ///< the waiter gave up; the slot and its buffer stay taken until the late completion
              ///< or a reset
  deserted,   ///< the waiter gave up while a lane was answering: that lane frees the slot
};

/// What a channel remembers about its requests in flight, by command id.
///
/// A command id is slot | generation << log2(slots): when a slot is used again its id differs, so
/// that a late or duplicated completion is recognised and dropped. Claim and completion are single
/// atomic steps; nothing waits.
template <thread_scope Scope>
class request_table {
 public:
  /// What an answer met.
  enum class answer : std::uint8_t { delivered, late, unknown };

  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t slots) {
    return slots * sizeof(request_slot) + (slots + 31) / 32 * 4;
  }

  /// @param memory zero-filled, `bytes(slots)` long; @param slots a power of two, 2 to 32768
  GNSTOR_HD request_table(void* memory, std::uint32_t slots)
      : slots_(static_cast<request_slot*>(memory)), mask_(slots - 1) {}

  /// Claims a slot and gives it a fresh command id, or would_block if every slot is taken.
  /// @par Callers any lane
  /// @par Order acquires what `finish` released: the slot's former owner is done with it
  /// @par Bound one lap over the words of the bitmap, 8 attempts a word
  GNSTOR_HD result<ticket> claim() const {
    const std::uint32_t words = (mask_ + 32) / 32;
    const std::uint32_t all = mask_ >= 31 ? ~0u : (2u << mask_) - 1;
    const std::uint32_t lane = simt::group::lane();
    for (std::uint32_t k = 0; k < words; ++k) {
      const std::uint32_t w = (lane + k) % words;
      const atomic_ref<std::uint32_t, Scope> taken(bitmap()[w]);
      std::uint32_t seen = taken.load(relaxed);
      for (bounded tries{8}; tries;) {
        const std::uint32_t open = ~seen & all;
        if (open == 0) break;
        // Lanes start at different bits, so that a warp's claims rarely meet.
        const std::uint32_t turned =
            open >> (lane & 31) | (lane & 31 ? open << (32 - (lane & 31)) : 0);
        const auto bit = (static_cast<std::uint32_t>(cuda::std::countr_zero(turned)) + lane) & 31;
        seen = taken.fetch_or(1u << bit, acquire);
        if ((seen >> bit & 1) == 0) return open_slot(w * 32 + bit);
      }
    }
    return status::make(status_code::would_block, reporter::channel);
  }

  /// Gives back a claimed slot whose request was never sent.
  GNSTOR_HD void cancel(ticket t) const {
    const std::uint32_t index = index_of(t.id);
    free_slot(index, word(slots_[index].phase).load(relaxed));
  }

  /// Notes at which send queue index a claimed request goes out. Before it is published.
  GNSTOR_HD void remember(ticket t, std::uint64_t index) const {
    word(slots_[index_of(t.id)].index).store(index, relaxed);
  }

  /// The send queue index of request `id`, if `id` is in flight.
  GNSTOR_HD result<std::uint64_t> recall(command_id id) const {
    request_slot& slot = slots_[index_of(id)];
    // Relaxed: who answers has received the request, and so what was written before it was sent. A
    // duplicate may meet the index of the slot's next request: with as many slots as send entries,
    // everything before that one has been answered.
    const std::uint64_t phase = word(slot.phase).load(relaxed);
    const std::uint64_t index = word(slot.index).load(relaxed);
    if (!same_id(phase, id)) return status::make(status_code::out_of_range, reporter::channel);
    return index;
  }

  /// Delivers the answer to request `id`. Of an answer and its duplicates one is delivered, the
  /// others are unknown.
  /// @par Callers any lane that polled the completion
  /// @par Order releases the outcome, and the payload the caller acquired, to `take`
  GNSTOR_HD answer complete(command_id id, status outcome, std::uint64_t value) const {
    request_slot& slot = slots_[index_of(id)];
    std::uint64_t phase = word(slot.phase).load(relaxed);
    for (bounded tries{2}; tries && same_id(phase, id);) {
      if (phase_of(phase) == request_phase::pending) {
        if (move(slot, phase, request_phase::answering, relaxed))
          return finish(slot, phase, outcome, value);
      } else if (phase_of(phase) == request_phase::abandoned) {
        if (move(slot, phase, request_phase::free, acq_rel)) {
          open_bit(index_of(id));
          return answer::late;
        }
      }
    }
    return answer::unknown;
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

  /// Gives up on a request. True if it was still unanswered: its slot stays taken until the late
  /// completion.
  GNSTOR_HD bool abandon(ticket t) const {
    request_slot& slot = slots_[index_of(t.id)];
    std::uint64_t phase = word(slot.phase).load(acquire);
    for (bounded tries{2}; tries;) {
      if (phase_of(phase) == request_phase::pending) {
        if (move(slot, phase, request_phase::abandoned, acq_rel)) return true;
      } else if (phase_of(phase) == request_phase::answering) {
        if (move(slot, phase, request_phase::deserted, acq_rel)) return true;
      }
    }
    return false;
  }

  /// Requests in flight or abandoned, for figures.
  GNSTOR_HD std::uint32_t in_use() const {
    std::uint32_t n = 0;
    for (std::uint32_t w = 0; w < (mask_ + 32) / 32; ++w) {
      n += static_cast<std::uint32_t>(
          cuda::std::popcount(atomic_ref<std::uint32_t, Scope>(bitmap()[w]).load(relaxed)));
    }
    return n;
  }

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
  GNSTOR_HD std::uint32_t* bitmap() const {
    return reinterpret_cast<std::uint32_t*>(slots_ + mask_ + 1);
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
                          std::uint64_t value) const {
    word(slot.outcome).store(outcome.pack(), relaxed);
    word(slot.value).store(value, relaxed);
    // Paired with the acquire load in `take`.
    if (move(slot, phase, request_phase::done, release)) return answer::delivered;
    free_slot(static_cast<std::uint32_t>(&slot - slots_), phase);
    return answer::late;
  }
  GNSTOR_HD void free_slot(std::uint32_t index, std::uint64_t phase) const {
    word(slots_[index].phase).store(with(phase, request_phase::free), relaxed);
    open_bit(index);
  }
  GNSTOR_HD void open_bit(std::uint32_t index) const {
    // Paired with the read-modify-write of `claim`.
    atomic_ref<std::uint32_t, Scope>(bitmap()[index / 32])
        .fetch_and(~(1u << (index & 31)), release);
  }

  request_slot* slots_;
  std::uint32_t mask_;
};

static_assert(std::is_trivially_copyable_v<request_table<thread_scope_device>>);

}  // namespace gnstor::inline v0

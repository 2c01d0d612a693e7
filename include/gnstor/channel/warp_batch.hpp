#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/group.hpp>

#include <concepts>
#include <cstring>
#include <type_traits>

namespace gnstor::inline v0 {

/// What a batch sends through: a channel, or a volume.
template <class Io>
concept batch_io = requires(const Io& io, typename Io::ticket_type t, deadline d) {
  { io.commit() } -> std::same_as<void>;
  { io.poll() } -> std::same_as<bool>;
  { io.take(t) } -> std::same_as<status>;
  { io.wait(t, d) } -> std::same_as<status>;
};

/// What a batch of one warp sends through that has a channel to itself: every call but `take` is
/// the whole warp's.
template <class Io>
concept own_batch_io = requires(Io& io, const simt::group& g, typename Io::ticket_type t,
                                deadline d) {
  { io.commit(g) } -> std::same_as<void>;
  { io.poll(g) } -> std::same_as<bool>;
  { io.take(t) } -> std::same_as<status>;
  { io.wait(g, t, d) } -> std::same_as<status>;
  { Io::ticket_type::nothing() } -> std::same_as<typename Io::ticket_type>;
};

/// Batched I/O of a block's warps: each thread has one slot, and the warp goes through the stages
/// submit, commit, poll and dispatch together (GNStor, section 4.4 and figure 7).
///
/// A bitmap in shared memory says whose request is pending. What has not been answered when a warp
/// dispatches stays pending: its thread skips the next submit, and the others do not wait for it.
/// With a channel under `doorbell::manual` one doorbell announces what a whole warp, or several
/// submits, have sent.
///
/// Of each warp one group takes part, the whole warp or any part of it, the same in every stage.
/// Two groups of one warp must not: on the GPU their lanes meet in the queue pair's collectives,
/// and may wait for each other for ever.
/// @tparam Warps warps of the block that take part, 1 to 32
/// @tparam Io a `channel` or a `volume_ref`; or an `async_exclusive_volume`, of whole warps: each
/// has one of its own, and takes part with `simt::group`
template <std::uint32_t Warps, class Io>
  requires batch_io<Io> || own_batch_io<Io>
class warp_batch {
  static constexpr bool owns = own_batch_io<Io>;
  using io_type = std::conditional_t<owns, Io, const Io>;
  static_assert(Warps >= 1 && Warps <= 32, "a block has 1 to 32 warps");
  static_assert(sizeof(typename Io::ticket_type) <= 8 &&
                std::is_trivially_copyable_v<typename Io::ticket_type>);

 public:
  using ticket_type = typename Io::ticket_type;

  /// The slots of all warps: a member of the kernel's shared memory. Needs no initialisation.
  struct storage {
    std::uint64_t tickets[32 * Warps];  ///< of the pending requests
    std::uint32_t pending[Warps];       ///< one bit per thread
  };

  /// Joins the batch with no slot pending.
  /// @param warp which of the batch's warps this is, below `Warps`
  /// @param g those lanes of the warp that take part
  /// @par Callers every lane of `g`, converged
  template <simt::warp_group G>
  GNSTOR_HD warp_batch(const G& g, io_type& io, storage& slots, std::uint32_t warp)
      : io_(&io), slots_(&slots), warp_(warp) {
    GNSTOR_ASSERT(warp < Warps);
    if (g.leads()) bits().store(0, relaxed);
    g.sync();
  }

  /// True if the calling thread's request has not been dispatched yet.
  GNSTOR_HD bool pending() const { return (bits().load(relaxed) >> simt::group::lane() & 1) != 0; }
  /// Pending requests of the calling thread's warp.
  GNSTOR_HD std::uint32_t outstanding() const {
    return static_cast<std::uint32_t>(cuda::std::popcount(bits().load(relaxed)));
  }
  /// Pending requests of the whole block, at some moment: a look at the other warps.
  GNSTOR_HD std::uint32_t outstanding_in_block() const {
    std::uint32_t n = 0;
    for (std::uint32_t w = 0; w < Warps; ++w)
      n += static_cast<std::uint32_t>(cuda::std::popcount(word(w).load(relaxed)));
    return n;
  }

  /// Sends one request for each thread that wants to and has none pending.
  /// @param ask `ask(io)` sends and gives a ticket: `io.submit(command)`, `io.read_async(...)`;
  /// over an own channel `ask(io, wants)`, called by every lane: `io.read_async(g, ..., wants)`
  /// @par Callers every lane of `g`, converged; so for all stages
  /// @par Result ok: the thread's request is on its way, and pending
  /// @par Errors would_block: nothing was wanted, the thread's slot is pending, or there is no
  /// room: poll and dispatch. Otherwise what `ask` says
  template <simt::warp_group G, class Ask>
  GNSTOR_HD status submit(const G& g, bool wants, const Ask& ask) const {
    const bool asks = wants && !pending();
    result<ticket_type> sent = status::make(status_code::would_block, reporter::caller);
    if constexpr (owns) {
      const result<ticket_type> mine = ask(*io_, asks);
      if (asks) sent = mine;
    } else {
      if (asks) sent = ask(*io_);
    }
    if (sent) {
      memcpy(&ticket_word(), &sent.value, sizeof sent.value);
      bits().fetch_or(1u << simt::group::lane(), relaxed);
    }
    g.sync();
    return sent.status;
  }

  /// Announces what was submitted, by one lane for all.
  template <simt::warp_group G>
  GNSTOR_HD void commit(const G& g) const {
    if constexpr (owns) {
      io_->commit(g);
    } else {
      if (g.leads()) io_->commit();
    }
  }

  /// Takes completions, whoever asked for them. True, in every lane, if there was one.
  template <simt::warp_group G>
  GNSTOR_HD bool poll(const G& g) const {
    if constexpr (owns) {
      return io_->poll(g);
    } else {
      return g.any(io_->poll());
    }
  }

  /// Calls `handle(status)` in each thread whose request was answered, and frees its slot.
  /// @par Result requests dispatched, the same in every lane
  /// @par Order what the request read is visible to its thread, and to the group when this returns
  template <simt::warp_group G, class Handle>
  GNSTOR_HD std::uint32_t dispatch(const G& g, const Handle& handle) const {
    bool answered = false;
    if (pending()) {
      const status outcome = io_->take(mine());
      answered = outcome.code != status_code::would_block;
      if (answered) end(outcome, handle);
    }
    g.sync();
    return g.count(answered);
  }

  /// Polls and dispatches until no thread of `g` has a request pending.
  /// @par Bound `d`: requests without an answer are then given up, and handled as timed_out
  template <simt::warp_group G, class Handle>
  GNSTOR_HD void drain(const G& g, deadline d, const Handle& handle) const {
    commit(g);
    for (until more{d}; g.any(more ? 1 : 0);) {
      const bool moved = poll(g);
      if (dispatch(g, handle) != 0 || moved) more.progressed();
      if (!g.any(pending())) return;
    }
    const bool late = pending();
    status last;
    if constexpr (owns) {
      last = io_->wait(g, late ? mine() : ticket_type::nothing(), deadline::after(0, 0));
    } else {
      if (late) last = io_->wait(mine(), deadline::after(0, 0));
    }
    if (late) end(last, handle);
    g.sync();
  }

 private:
  GNSTOR_HD atomic_ref<std::uint32_t, thread_scope_block> word(std::uint32_t warp) const {
    return atomic_ref<std::uint32_t, thread_scope_block>(slots_->pending[warp]);
  }
  GNSTOR_HD atomic_ref<std::uint32_t, thread_scope_block> bits() const { return word(warp_); }
  GNSTOR_HD std::uint64_t& ticket_word() const {
    return slots_->tickets[warp_ * 32 + simt::group::lane()];
  }
  GNSTOR_HD ticket_type mine() const {
    ticket_type t;
    memcpy(static_cast<void*>(&t), &ticket_word(), sizeof t);
    return t;
  }
  template <class Handle>
  GNSTOR_HD void end(status outcome, const Handle& handle) const {
    bits().fetch_and(~(1u << simt::group::lane()), relaxed);
    handle(outcome);
  }

  io_type* io_;
  storage* slots_;
  std::uint32_t warp_;
};

}  // namespace gnstor::inline v0

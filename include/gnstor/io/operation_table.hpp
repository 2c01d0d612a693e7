#pragma once

#include <gnstor/io/callback_id.hpp>
#include <gnstor/io/step_table.hpp>
#include <gnstor/simt/clock.hpp>

namespace gnstor::detail {

/// What is known of one asynchronous operation while its steps are in flight.
struct operation_state {
  std::uint64_t failed = 0;    ///< `status::pack()` of the first step that failed; 0: none
  std::uint64_t late = 0;      ///< the same of the first step that was left behind
  std::uint64_t argument = 0;  ///< the caller's word for its callback
  std::uint64_t ends_ns = 0;   ///< `deadline::at_ns`
  std::uint32_t left = 0;      ///< steps in flight, and one for the lane that still sends
  std::uint32_t callback = 0;  ///< callback_id; 0: somebody waits
};

/// The asynchronous operations of a channel: sets of commands that end together.
///
/// An operation lives like a request: claimed, pending, then answered by its last step, and taken
/// by its owner or, if it has a callback, by whoever dispatches. So its life is a request table,
/// too, and its ticket one of that table.
template <thread_scope Scope>
class operation_table {
  using life = request_table<Scope>;
  using step_list = step_table<Scope>;

 public:
  /// @param memory zero-filled, what a channel has from `channel_layout::steps` on; null for no
  /// table, which begins nothing
  /// @param slots as many as the channel has request slots
  GNSTOR_HD operation_table(void* memory, std::uint32_t slots)
      : memory_(static_cast<unsigned char*>(memory)), slots_(slots) {}

  /// The steps in flight, by request slot.
  GNSTOR_HD step_list steps() const { return step_list(memory_); }

  GNSTOR_HD bool exists() const { return memory_ != nullptr; }

  /// Opens an operation that its caller then gives its steps; would_block if every slot is taken,
  /// unsupported without a table.
  /// @par Callers any lane; it must `settle` once for itself when all steps are sent
  GNSTOR_HD result<ticket> begin(callback_id then, std::uint64_t argument, deadline d) const {
    if (!exists()) return unsupported();
    const result<ticket> mine = table().claim();
    if (!mine) return mine;
    operation_state& o = states()[table().slot_of(mine.value)];
    // Relaxed: steps carry it to who settles them, and settling to who takes the operation.
    word(o.failed).store(0, relaxed);
    word(o.late).store(0, relaxed);
    word(o.argument).store(argument, relaxed);
    word(o.ends_ns).store(d.at_ns(), relaxed);
    count(o.callback).store(then.value, relaxed);
    count(o.left).store(1, relaxed);
    return mine;
  }

  /// The slot that steps name as their operation.
  GNSTOR_HD std::uint16_t slot_of(ticket t) const {
    return static_cast<std::uint16_t>(table().slot_of(t));
  }
  /// One more step is about to be sent. @par Callers the lane that sends
  GNSTOR_HD void add_step(std::uint32_t slot) const {
    count(states()[slot].left).fetch_add(1, relaxed);
  }
  /// When the operation in `slot` has to end. @par Callers who holds one of its steps
  GNSTOR_HD std::uint64_t ends_ns(std::uint32_t slot) const {
    return word(states()[slot].ends_ns).load(relaxed);
  }

  /// The SSD that `step` asks now has its share of the operation's time.
  GNSTOR_HD void begin_turn(io_step& step) const {
    const deadline ends = deadline::after(0, ends_ns(step.operation));
    step.expires_ns = share_of(ends, simt::now_ns(), step.candidates_left()).at_ns();
  }

  /// A step of the operation in `slot` ended with `s`, or its lane has sent all steps. The last of
  /// them ends the operation.
  /// @par Callers any lane, once a step
  /// @par Order releases what the caller acquired of the step's data to who takes the operation
  GNSTOR_HD void settle(std::uint32_t slot, status s) const {
    operation_state& o = states()[slot];
    if (s.failed()) first(o.failed, s);
    if (s.left_behind()) first(o.late, s);
    // Acquires what the other steps' lanes released, and releases this one's.
    if (count(o.left).fetch_sub(1, acq_rel) != 1) return;
    const status outcome = combined(status::unpack(word(o.failed).load(relaxed)),
                                    status::unpack(word(o.late).load(relaxed)));
    const bool called = count(o.callback).load(relaxed) != 0;
    (void)table().complete(table().ticket_of(slot).id, outcome, word(o.argument).load(relaxed),
                           called);
  }

  /// The outcome of an operation without callback, or would_block. Its slot is free afterwards.
  /// @par Callers the owner of the ticket, on any warp
  /// @par Order acquires what `settle` released
  GNSTOR_HD status take(ticket t) const { return exists() ? table().take(t) : unsupported(); }
  /// Gives up on an operation. True if it was still going on: it frees itself when it ends.
  GNSTOR_HD bool abandon(ticket t) const { return table().abandon(t); }
  /// Ends an operation that has no step.
  GNSTOR_HD void cancel(ticket t) const { table().cancel(t); }

  /// Forgets every operation.
  /// @par Callers one lane, while nobody else uses the table
  GNSTOR_HD_SLOW void forget_all() const { table().free_all(); }

  /// An operation that has ended and whose callback is to be called; would_block if there is none.
  /// @par Callers any lane; then `take_ended`
  GNSTOR_HD result<ticket> take_called() const { return table().take_answered(); }
  /// The callback of an operation from `take_called`.
  GNSTOR_HD callback_id callback_of(ticket t) const {
    return callback_id(
        static_cast<std::uint16_t>(count(states()[table().slot_of(t)].callback).load(relaxed)));
  }
  /// The outcome of an operation from `take_called`, and its argument; its slot is free afterwards.
  GNSTOR_HD status take_ended(ticket t, std::uint64_t* argument) const {
    return table().take_wide(t, argument);
  }

  /// Operations that go on or wait to be taken, for figures.
  GNSTOR_HD std::uint32_t in_use() const { return exists() ? table().in_use() : 0; }

 private:
  GNSTOR_HD static status unsupported() {
    return status::make(status_code::unsupported, reporter::channel);
  }
  GNSTOR_HD static atomic_ref<std::uint64_t, Scope> word(std::uint64_t& w) {
    return atomic_ref<std::uint64_t, Scope>(w);
  }
  GNSTOR_HD static atomic_ref<std::uint32_t, Scope> count(std::uint32_t& w) {
    return atomic_ref<std::uint32_t, Scope>(w);
  }
  GNSTOR_HD static void first(std::uint64_t& where, status s) {
    std::uint64_t none = 0;
    word(where).compare_exchange(none, s.pack(), relaxed);
  }

  GNSTOR_HD life table() const {
    const channel_layout where(slots_);
    return life(memory_ + (where.operation_slots() - where.steps()), slots_);
  }
  GNSTOR_HD operation_state* states() const {
    const channel_layout where(slots_);
    return reinterpret_cast<operation_state*>(memory_ + (where.operations() - where.steps()));
  }

  unsigned char* memory_;
  std::uint32_t slots_;
};

static_assert(sizeof(operation_state) == channel_layout::operation_bytes);
static_assert(std::is_trivially_copyable_v<operation_table<thread_scope_device>>);

}  // namespace gnstor::detail

#pragma once

#include <gnstor/io/warp_async_io.hpp>
#include <gnstor/volume/exclusive_volume.hpp>

namespace gnstor::inline v0 {

/// A volume as one warp uses it that has a channel to itself, also with operations that it begins
/// and takes later: what is read ahead is on its way while the warp computes.
///
/// All of `exclusive_volume`, and the calls below, which are the whole warp's, too: lanes without a
/// request say so. It needs a session that was opened with `session_options::asynchronous`. Each
/// lane has as many operations under way as it likes, as far as the channel has request slots.
/// Whatever is still under way at `release` is given up.
template <placement Placement = rendezvous_placement>
class async_exclusive_volume
    : public exclusive_volume<Placement, detail::warp_async_io<detail::warp_channel>> {
  using base = exclusive_volume<Placement, detail::warp_async_io<detail::warp_channel>>;
  using opcode = wire::nvme::nvm_opcode;
  using base::begun_;
  using base::channel_;
  using base::volume_;
  using base::warp;

 public:
  using typename base::shared_type;
  using ticket_type = io_ticket;

  /// @par Callers as `exclusive_volume`
  GNSTOR_HD_INLINE async_exclusive_volume(const simt::group& g, const shared_type& volume)
      : base(g, volume) {}

  /// Begins to read, for each lane that wants to; returns when every command is sent.
  /// @param d when the operation ends at the latest, as long as the warp polls
  /// @param then called by `dispatch` when all is over; by default the lane has to `wait`
  /// @par Result a lane that wants nothing gets `io_ticket::nothing()`
  /// @par Callers every lane of the warp, converged; they return together
  /// @par Errors as `volume_ref::read_async`, each lane its own
  template <io_memory Memory>
  GNSTOR_HD_INLINE result<io_ticket> read_async(const simt::group& g, vba first,
                                                std::uint32_t blocks, const Memory& memory,
                                                deadline d, bool wants = true,
                                                completion_call then = {}) {
    if (channel_)
      return begin(g, opcode::read, {first, blocks, d}, detail::cursor_of(memory), wants, then);
    return this->shared(
        g, wants, [=](const auto& v) { return v.read_async(first, blocks, memory, d, then); },
        nothing());
  }
  /// Begins to write. The memory must stay as it is until the operation has ended.
  template <io_memory Memory>
  GNSTOR_HD_INLINE result<io_ticket> write_async(const simt::group& g, vba first,
                                                 std::uint32_t blocks, const Memory& memory,
                                                 deadline d, bool wants = true,
                                                 completion_call then = {}) {
    if (channel_)
      return begin(g, opcode::write, {first, blocks, d}, detail::cursor_of(memory), wants, then);
    return this->shared(
        g, wants, [=](const auto& v) { return v.write_async(first, blocks, memory, d, then); },
        nothing());
  }
  /// Begins to deallocate.
  GNSTOR_HD_INLINE result<io_ticket> deallocate_async(const simt::group& g, vba first,
                                                      std::uint32_t blocks, deadline d,
                                                      bool wants = true,
                                                      completion_call then = {}) {
    if (channel_) {
      return begin(g, opcode::write_zeroes, {first, blocks, d}, detail::no_data_cursor(), wants,
                   then);
    }
    return this->shared(
        g, wants, [=](const auto& v) { return v.deallocate_async(first, blocks, d, then); },
        nothing());
  }

  /// Waits for an operation of each lane that has no callback.
  /// @par Callers every lane of the warp, converged; they return together
  /// @par Order on success the data is visible to the whole warp
  /// @par Bound the latest `d`; the operation then ends by itself, and its buffer must not be
  /// reused
  /// @par Errors timed_out; otherwise as the synchronous call; ok of no operation
  GNSTOR_HD_INLINE status wait(const simt::group& g, io_ticket t, deadline d) {
    const bool waits = !t.is_nothing();
    if (channel_) return begun_.wait(warp(), *channel_, t.operation, d, waits);
    return this->shared(g, waits, [=](const auto& v) { return v.wait(t, d); });
  }
  /// The operation's outcome if it has ended, else would_block; does not poll. ok of no operation.
  /// @par Callers any lane of the warp
  GNSTOR_HD_INLINE status take(io_ticket t) const {
    if (t.is_nothing()) return status{};
    return channel_ ? begun_.take(t.operation) : volume_.take(t);
  }
  /// Announces what was sent, where a doorbell policy leaves that to the kernel.
  /// @par Callers every lane of the warp, converged
  GNSTOR_HD_INLINE void commit(const simt::group& g) {
    if (channel_) channel_->commit(warp());
    if (!channel_ && g.leads()) volume_.commit();
  }
  /// Carries on what was begun. True, for all lanes, if anything moved.
  /// @par Callers every lane of the warp, converged
  GNSTOR_HD_INLINE bool poll(const simt::group& g) {
    if (channel_) return begun_.poll(warp(), *channel_);
    return g.any(volume_.poll());
  }
  /// Polls, and calls the callback of one operation a lane that has ended. True, for all lanes, if
  /// one did.
  /// @par Callers every lane of the warp, converged; a callback runs in its lane alone, and so
  /// begins nothing on this volume
  template <class Table>
  GNSTOR_HD_INLINE bool dispatch(const simt::group& g, const Table& callbacks) {
    if (channel_) return begun_.dispatch(warp(), *channel_, callbacks);
    return g.any(volume_.dispatch(callbacks));
  }

  /// Gives up what is under way, and the channel back.
  /// @par Callers as `exclusive_volume::release`
  GNSTOR_HD_INLINE void release(const simt::group& g) {
    if (channel_) begun_.end(warp(), *channel_);
    base::release(g);
  }

 private:
  GNSTOR_HD static result<io_ticket> nothing() { return io_ticket::nothing(); }

  template <class Data>
  GNSTOR_HD_INLINE result<io_ticket> begin(const simt::group& g, opcode op,
                                           const typename detail::io_plan<Placement>::range& r,
                                           const Data& data, bool wants, completion_call then) {
    const auto& plan = volume_.plan();
    status wrong;
    if (wants) wrong = plan.checked(r, data);
    const bool goes = wants && wrong.ok();
    const result<ticket> begun =
        begun_.begin(warp(), *channel_, then, r.ends, plan.steps_of(op, r, data), goes);
    g.sync();
    if (!wrong.ok()) return wrong;
    if (!wants) return nothing();
    if (!begun) return begun.status;
    return io_ticket{begun.value, static_cast<std::uint16_t>(volume_.channels().my_index())};
  }
};

}  // namespace gnstor::inline v0

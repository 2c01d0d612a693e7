#pragma once

#include <gnstor/channel/channel_set.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/io/io_ticket.hpp>
#include <gnstor/io/lane_io.hpp>
#include <gnstor/io/next_attempt.hpp>

namespace gnstor::inline v0 {

/// A volume of the array, read and written by block address from any lane (a reference, passed by
/// value).
///
/// I/O is split at stripes, sent to the SSDs that the placement names, all replicas for a write,
/// one for a read; a read whose SSD fails goes on to the next replica. Calls that end in `_async`
/// return when everything is sent: `wait` for their ticket, or let a callback be called; in both
/// cases lanes have to poll meanwhile, and any do. They need a session that was opened with
/// `session_options::asynchronous`.
///
/// Of an array that has a manager, calls that wait follow its epochs: where an SSD fails, or the
/// array has gone on to another epoch, the whole request is carried out again in the next one, as
/// long as there is time. A lane sees latency then, and an error if no epoch helps until its
/// deadline. What was begun by an `_async` call ends with an error instead: call the waiting one.
template <class Channel, placement Placement = rendezvous_placement>
class volume_ref {
  using opcode = wire::nvme::nvm_opcode;
  using plan_type = detail::io_plan<Placement>;
  using range = typename plan_type::range;

 public:
  using ticket_type = io_ticket;

  GNSTOR_HD volume_ref(const volume_info& info, channel_set<Channel> channels, Placement where)
      : plan_(info, where), channels_(channels) {}

  GNSTOR_HD const volume_info& info() const { return plan_.info(); }
  GNSTOR_HD const channel_set<Channel>& channels() const { return channels_; }
  /// How requests become commands.
  GNSTOR_HD const plan_type& plan() const { return plan_; }

  /// The same volume, reading from other SSDs than `ssd` wherever a replica in sync is on another:
  /// for the next attempt after `buffer_in_use`, with the SSD that this status names.
  GNSTOR_HD volume_ref avoiding(ssd_index ssd) const {
    volume_ref other = *this;
    other.plan_ = plan_.avoiding(ssd);
    return other;
  }

  /// Reads `blocks` blocks from `first` on into `memory`: registered, at least blocks * 4096 bytes
  /// long; in several places if it is a `scatter_list`, one filled after another.
  /// @par Callers any lane, converged or not
  /// @par Order on success the data is visible to the caller, and to its group after `sync`
  /// @par Bound `d`
  /// @par Errors out_of_range, invalid_argument (nothing was sent; also a segment that is no
  /// multiple of 4096 bytes); otherwise the last replica's status: nvme_error with the SSD's index,
  /// timed_out, transport_error, flushed. buffer_in_use where a replica was silent and another one
  /// delivered: read again into another buffer, by `avoiding` the silent one. After any status that
  /// is `left_behind()` an SSD may still write the buffer; after ok nobody does
  template <io_memory Memory>
  GNSTOR_HD status read(vba first, std::uint32_t blocks, const Memory& memory, deadline d) const {
    return carried_out(d, [=](const driver& io) {
      return io.read({first, blocks, d}, detail::cursor_of(memory));
    });
  }

  /// Writes `blocks` blocks from `first` on to every replica; succeeds when all have acknowledged.
  /// @par Errors as `read`; the first replica's that failed, or that may still read the buffer
  template <io_memory Memory>
  GNSTOR_HD status write(vba first, std::uint32_t blocks, const Memory& memory, deadline d) const {
    return carried_out(d, [=](const driver& io) {
      return io.write(opcode::write, {first, blocks, d}, detail::cursor_of(memory));
    });
  }

  /// One range by all lanes of `g` together: lane k transfers every g.size()-th piece, the k-th
  /// first. Where each lane has a range of its own, each calls `read`; a warp with a channel of its
  /// own `exclusive_volume::read`.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Result every lane the same status, as if one lane had done it all
  template <simt::warp_group G>
  GNSTOR_HD status read_together(const G& g, vba first, std::uint32_t blocks, io_buffer buffer,
                                 deadline d) const {
    const range mine{first, blocks, d, g.thread_rank(), g.size()};
    return together(g, carried_out(d, [=](const driver& io) {
                      return io.read(mine, detail::cursor_of(buffer));
                    }));
  }
  template <simt::warp_group G>
  GNSTOR_HD status write_together(const G& g, vba first, std::uint32_t blocks, io_buffer buffer,
                                  deadline d) const {
    const range mine{first, blocks, d, g.thread_rank(), g.size()};
    return together(g, carried_out(d, [=](const driver& io) {
                      return io.write(opcode::write, mine, detail::cursor_of(buffer));
                    }));
  }
  template <simt::warp_group G>
  [[deprecated("read_together: one range by all lanes")]] GNSTOR_HD status
  read(const G& g, vba first, std::uint32_t blocks, io_buffer buffer, deadline d) const {
    return read_together(g, first, blocks, buffer, d);
  }
  template <simt::warp_group G>
  [[deprecated("write_together: one range by all lanes")]] GNSTOR_HD status
  write(const G& g, vba first, std::uint32_t blocks, io_buffer buffer, deadline d) const {
    return write_together(g, first, blocks, buffer, d);
  }

  /// Makes what was acknowledged survive a power cut, on every SSD of the array.
  /// @par Bound `d`
  /// @par Errors the first SSD's that failed; timed_out, transport_error, flushed
  GNSTOR_HD status flush(deadline d) const {
    return carried_out(d, [=](const driver& io) { return io.flush(d); });
  }

  /// Gives blocks back to the SSDs: they read as zeroes until they are written again. One stripe
  /// after another; `deallocate_async` sends as many at once as the channel has room for.
  /// @par Bound `d`
  /// @par Errors as `write`
  GNSTOR_HD status deallocate(vba first, std::uint32_t blocks, deadline d) const {
    return carried_out(d, [=](const driver& io) {
      return io.write(opcode::write_zeroes, {first, blocks, d}, detail::no_data_cursor());
    });
  }

  /// Begins to read; returns when every command is sent, and does not wait for the data.
  /// @param d when the operation ends at the latest, as long as somebody polls
  /// @param then called when all is over; by default somebody has to `wait` for the ticket
  /// @par Callers any lane, converged or not
  /// @par Errors would_block: nothing was sent, as too many operations or requests are going on:
  /// wait for what you have begun, or dispatch, and try again (a lane that waits for room while it
  /// holds a ticket may wait for another that does the same). out_of_range, invalid_argument,
  /// unsupported: nothing was sent. Whatever happens later is the operation's outcome
  template <io_memory Memory>
  GNSTOR_HD result<io_ticket> read_async(vba first, std::uint32_t blocks, const Memory& memory,
                                         deadline d, completion_call then = {}) const {
    return begin(opcode::read, {first, blocks, d}, detail::cursor_of(memory), then);
  }
  /// Begins to write. The memory must stay as it is until the operation has ended.
  template <io_memory Memory>
  GNSTOR_HD result<io_ticket> write_async(vba first, std::uint32_t blocks, const Memory& memory,
                                          deadline d, completion_call then = {}) const {
    return begin(opcode::write, {first, blocks, d}, detail::cursor_of(memory), then);
  }
  /// Begins to deallocate.
  GNSTOR_HD result<io_ticket> deallocate_async(vba first, std::uint32_t blocks, deadline d,
                                               completion_call then = {}) const {
    return begin(opcode::write_zeroes, {first, blocks, d}, detail::no_data_cursor(), then);
  }
  /// Begins to flush.
  GNSTOR_HD result<io_ticket> flush_async(deadline d, completion_call then = {}) const {
    return ticketed(mine().begin(then, d, typename plan_type::all_flush_steps{plan_}));
  }

  /// Waits for an operation of this session that has no callback.
  /// @par Callers one lane, of any warp, once
  /// @par Order on success the data is visible to the caller
  /// @par Bound `d`; the operation then ends by itself, and its buffer must not be reused
  /// @par Errors timed_out; otherwise as the synchronous call
  GNSTOR_HD status wait(io_ticket t, deadline d) const {
    return t.is_nothing() ? status{} : on(t).wait(t.operation, d);
  }
  /// The operation's outcome if it has ended, else would_block; does not poll.
  /// @par Callers as `wait`, until the outcome is there
  GNSTOR_HD status take(io_ticket t) const {
    return t.is_nothing() ? status{} : on(t).take(t.operation);
  }
  /// The operation's outcome if it has ended, else would_block; polls.
  /// @par Callers as `wait`, until the outcome is there
  GNSTOR_HD status try_wait(io_ticket t) const {
    return t.is_nothing() ? status{} : on(t).try_wait(t.operation);
  }
  /// Announces what was sent on the caller's channel, where its doorbell policy leaves that to the
  /// kernel.
  GNSTOR_HD void commit() const { channels_.mine().commit(); }
  /// Carries on what was begun on the caller's channel. True if anything moved.
  /// @par Callers any lane, converged or not
  GNSTOR_HD bool poll() const { return mine().poll(); }
  /// Polls, and calls the callback of one operation of the caller's channel that has ended; true if
  /// it did.
  /// @par Callers any lane, converged or not; nothing is held while the callback runs
  template <class Table>
  GNSTOR_HD bool dispatch(const Table& callbacks) const {
    return mine().dispatch(callbacks);
  }

 private:
  using driver = detail::lane_io<Channel, Placement>;
  static constexpr std::uint32_t most_epochs = 1u << 20;  ///< that one request sees

  /// Carries out `request(driver)`; where it fails as it may not in another epoch of the array, or
  /// by another connection, again in each new one. Nothing of it is under way then, and nothing is
  /// sent again within an epoch and a connection: what one SSD still had to do could pass what
  /// comes later.
  template <class Request>
  GNSTOR_HD status carried_out(deadline d, const Request& request) const {
    plan_type plan = plan_;
    status s;
    std::uint32_t losses = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (bounded epochs{most_epochs}; epochs;) {
      s = request(driver(plan, channels_));
      if (s.ok() || plan.info().epochs == nullptr) break;
      const auto next = detail::next_attempt::after(s, channels_.mine(), *plan.info().epochs,
                                                    plan.info().epoch, losses, d);
      s = next.outcome;
      if (!next.goes_on) break;
      losses = next.losses;
      if (next.epoch.number != 0) plan = plan.in(next.epoch);
    }
    return s;
  }
  GNSTOR_HD async_io<Channel> mine() const { return async_io<Channel>(channels_.mine()); }
  GNSTOR_HD async_io<Channel> on(io_ticket t) const {
    return async_io<Channel>(channels_[t.channel]);
  }

  template <simt::warp_group G>
  GNSTOR_HD static status together(const G& g, status mine) {
    g.sync();  // the data that other lanes received
    return detail::combined(g, mine);
  }

  /// Begins an operation on a range.
  template <class Data>
  GNSTOR_HD result<io_ticket> begin(opcode op, const range& r, const Data& data,
                                    completion_call then) const {
    const status wrong = plan_.checked(r, data);
    if (!wrong.ok()) return wrong;
    return ticketed(mine().begin(then, r.ends, plan_.steps_of(op, r, data)));
  }
  GNSTOR_HD result<io_ticket> ticketed(result<ticket> begun) const {
    if (!begun) return begun.status;
    return io_ticket{begun.value, static_cast<std::uint16_t>(channels_.my_index())};
  }

  plan_type plan_;
  channel_set<Channel> channels_;
};

}  // namespace gnstor::inline v0

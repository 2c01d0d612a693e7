#pragma once

#include <gnstor/channel/channel_set.hpp>
#include <gnstor/channel/completion_call.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/volume/data_cursor.hpp>
#include <gnstor/volume/io_ticket.hpp>
#include <gnstor/volume/read_attempts.hpp>
#include <gnstor/volume/scatter_cursor.hpp>
#include <gnstor/volume/volume_split.hpp>

namespace gnstor::inline v0 {

/// A volume of the array, read and written by block address from any lane (a reference, passed by
/// value).
///
/// I/O is split at stripes, sent to the SSDs that the placement names, all replicas for a write,
/// one for a read; a read whose SSD fails goes on to the next replica. Calls that end in `_async`
/// return when everything is sent: `wait` for their ticket, or let a callback be told; in both
/// cases lanes have to poll meanwhile, and any do. They need a session that was opened with
/// `session_options::asynchronous`.
template <class Channel, placement Placement = rendezvous_placement>
class volume_ref {
  using opcode = wire::nvme::nvm_opcode;
  using range = typename detail::volume_split<Placement>::range;
  using piece = typename detail::volume_split<Placement>::piece;

 public:
  using ticket_type = io_ticket;

  GNSTOR_HD volume_ref(const volume_info& info, channel_set<Channel> channels, Placement where)
      : split_(info, where), channels_(channels) {}

  GNSTOR_HD const volume_info& info() const { return split_.info(); }
  GNSTOR_HD const channel_set<Channel>& channels() const { return channels_; }
  /// How requests become commands.
  GNSTOR_HD const detail::volume_split<Placement>& pieces() const { return split_; }

  /// The same volume, reading from other SSDs than `ssd` wherever a replica in sync is on another:
  /// for the next attempt after `buffer_in_use`, with the SSD that this status names.
  GNSTOR_HD volume_ref avoiding(ssd_index ssd) const {
    volume_ref other = *this;
    other.split_ = split_.avoiding(ssd);
    return other;
  }

  /// Reads `blocks` blocks from `first` on into `buffer` (registered memory, at least blocks * 4096
  /// bytes).
  /// @par Callers any lane, in any company
  /// @par Order on success the data is visible to the caller, and to its group after `sync`
  /// @par Bound `d`
  /// @par Errors out_of_range, invalid_argument (nothing was sent); otherwise the last replica's
  /// status: nvme_error with the SSD's index, timed_out, transport_error, flushed. buffer_in_use
  /// where a replica was silent and another one delivered: read again into another buffer, by
  /// `avoiding` the silent one. After any status that is `left_behind()` an SSD may still write the
  /// buffer; after ok nobody does
  GNSTOR_HD status read(vba first, std::uint32_t blocks, io_buffer buffer, deadline d) const {
    return move(opcode::read, {first, blocks, d}, detail::buffer_cursor(buffer));
  }

  /// Writes `blocks` blocks from `first` on to every replica; succeeds when all have acknowledged.
  /// @par Errors as `read`; the first replica's that failed, or that may still read the buffer
  GNSTOR_HD status write(vba first, std::uint32_t blocks, io_buffer buffer, deadline d) const {
    return move(opcode::write, {first, blocks, d}, detail::buffer_cursor(buffer));
  }

  /// The same with memory in several places: the blocks from `first` on fill, or come from, one
  /// segment after another.
  /// @par Errors invalid_argument also where a segment is no multiple of 4096 bytes
  GNSTOR_HD status read(vba first, std::uint32_t blocks, scatter_list to, deadline d) const {
    return move(opcode::read, {first, blocks, d}, detail::scatter_cursor(to));
  }
  GNSTOR_HD status write(vba first, std::uint32_t blocks, scatter_list from, deadline d) const {
    return move(opcode::write, {first, blocks, d}, detail::scatter_cursor(from));
  }

  /// The same by all lanes of `g`: lane k transfers every g.size()-th piece, the k-th first.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Result every lane the same status, as if one lane had done it all
  template <simt::warp_group G>
  GNSTOR_HD status read(const G& g, vba first, std::uint32_t blocks, io_buffer buffer,
                        deadline d) const {
    return together(g, move(opcode::read, {first, blocks, d, g.thread_rank(), g.size()},
                            detail::buffer_cursor(buffer)));
  }
  template <simt::warp_group G>
  GNSTOR_HD status write(const G& g, vba first, std::uint32_t blocks, io_buffer buffer,
                         deadline d) const {
    return together(g, move(opcode::write, {first, blocks, d, g.thread_rank(), g.size()},
                            detail::buffer_cursor(buffer)));
  }

  /// Makes what was acknowledged survive a power cut, on every SSD of the array.
  /// @par Bound `d`
  /// @par Errors the first SSD's that failed; timed_out, transport_error, flushed
  GNSTOR_HD status flush(deadline d) const {
    status outcome;
    const std::uint32_t ssds = flushed_ssds();
    for (std::uint32_t k = 0; k < ssds; k += max_replicas) {
      const std::uint32_t some = ssds - k < max_replicas ? ssds - k : max_replicas;
      const std::uint32_t turns = (ssds - k + max_replicas - 1) / max_replicas;
      const auto part = [&](std::uint32_t j) { return flushing(k + j); };
      // A silent SSD takes the time of those beside it, not that of all.
      const deadline turn = share_of(d, simt::now_ns(), turns);
      outcome = combined(outcome, send_all(some, part, turn));
    }
    return outcome;
  }

  /// Gives blocks back to the SSDs: they read as zeroes until they are written again. One stripe
  /// after another; `deallocate_async` sends as many at once as the channel has room for.
  /// @par Bound `d`
  /// @par Errors as `write`
  GNSTOR_HD status deallocate(vba first, std::uint32_t blocks, deadline d) const {
    return move(opcode::write_zeroes, {first, blocks, d}, detail::no_data_cursor());
  }

  /// Begins to read; returns when every command is sent, and does not wait for the data.
  /// @param d when the operation ends at the latest, as long as somebody polls
  /// @param then called when all is over; by default somebody has to `wait` for the ticket
  /// @par Callers any lane, in any company
  /// @par Errors would_block: nothing was sent, as too many operations or requests are going on:
  /// wait for what you have begun, or dispatch, and try again (a lane that waits for room while it
  /// holds a ticket may wait for another that does the same). out_of_range, invalid_argument,
  /// unsupported: nothing was sent. Whatever happens later is the operation's outcome
  GNSTOR_HD result<io_ticket> read_async(vba first, std::uint32_t blocks, io_buffer buffer,
                                         deadline d, completion_call then = {}) const {
    return begin(opcode::read, {first, blocks, d}, detail::buffer_cursor(buffer), then);
  }
  /// Begins to write. The buffer must stay as it is until the operation has ended.
  GNSTOR_HD result<io_ticket> write_async(vba first, std::uint32_t blocks, io_buffer buffer,
                                          deadline d, completion_call then = {}) const {
    return begin(opcode::write, {first, blocks, d}, detail::buffer_cursor(buffer), then);
  }
  /// The same with memory in several places.
  GNSTOR_HD result<io_ticket> read_async(vba first, std::uint32_t blocks, scatter_list to,
                                         deadline d, completion_call then = {}) const {
    return begin(opcode::read, {first, blocks, d}, detail::scatter_cursor(to), then);
  }
  GNSTOR_HD result<io_ticket> write_async(vba first, std::uint32_t blocks, scatter_list from,
                                          deadline d, completion_call then = {}) const {
    return begin(opcode::write, {first, blocks, d}, detail::scatter_cursor(from), then);
  }
  /// Begins to deallocate.
  GNSTOR_HD result<io_ticket> deallocate_async(vba first, std::uint32_t blocks, deadline d,
                                               completion_call then = {}) const {
    return begin(opcode::write_zeroes, {first, blocks, d}, detail::no_data_cursor(), then);
  }
  /// Begins to flush.
  GNSTOR_HD result<io_ticket> flush_async(deadline d, completion_call then = {}) const {
    const auto io = channels_.mine().async();
    const result<ticket> operation = io.begin(then.callback, then.argument, d);
    if (!operation) return operation.status;
    for (std::uint32_t k = 0; k < flushed_ssds(); ++k) {
      const io_part p = flushing(k);
      const status sent = k == 0 ? io.try_add(operation.value, p) : io.add(operation.value, p);
      if (k == 0 && sent.code == status_code::would_block) return nothing_sent(operation.value);
    }
    return sent_all(operation.value, status{});
  }

  /// Waits for an operation of this session that has no callback.
  /// @par Callers one lane, of any warp, once
  /// @par Order on success the data is visible to the caller
  /// @par Bound `d`; the operation then ends by itself, and its buffer must not be reused
  /// @par Errors timed_out; otherwise as the synchronous call
  GNSTOR_HD status wait(io_ticket t, deadline d) const {
    return channels_[t.channel].async().wait(t.operation, d);
  }
  /// The operation's outcome if it has ended, else would_block; does not poll.
  /// @par Callers as `wait`, until the outcome is there
  GNSTOR_HD status take(io_ticket t) const {
    return channels_[t.channel].async().take(t.operation);
  }
  /// The operation's outcome if it has ended, else would_block; polls.
  /// @par Callers as `wait`, until the outcome is there
  GNSTOR_HD status try_wait(io_ticket t) const {
    return channels_[t.channel].async().try_wait(t.operation);
  }
  /// Announces what was sent on the caller's channel, where its doorbell policy leaves that to the
  /// kernel.
  GNSTOR_HD void commit() const { channels_.mine().commit(); }
  /// Carries on what was begun on the caller's channel. True if anything moved.
  /// @par Callers any lane, in any company
  GNSTOR_HD bool poll() const { return channels_.mine().async().poll(); }
  /// Polls, and calls the callback of one operation of the caller's channel that has ended; true if
  /// it did.
  /// @par Callers any lane, in any company; nothing is held while the callback runs
  template <class Table>
  GNSTOR_HD bool dispatch(const Table& callbacks) const {
    return channels_.mine().async().dispatch(callbacks);
  }

 private:
  struct in_flight {
    ticket sent{};
    ssd_index ssd{};
  };

  /// Reads, writes or deallocates a range and waits for it.
  template <class Data>
  GNSTOR_HD status move(opcode op, const range& r, const Data& data) const {
    status outcome = split_.checked(r, data);
    if (!outcome.ok()) return outcome;
    std::uint64_t silent = 0;
    split_.for_pieces(op, r, data, [&](const piece& p) {
      // The time is up: what would be sent now could only be given up, and would keep its slot.
      if (op != opcode::read && outcome.left_behind()) return;
      const auto of_replica = [&](std::uint32_t k) { return split_.writing(op, p, k); };
      outcome = combined(outcome, op == opcode::read ? read_any(p, r.ends, silent)
                                                     : send_all(p.where.count, of_replica, r.ends));
    });
    return outcome;
  }

  /// How many SSDs a flush goes to, and the part for the `k`-th.
  GNSTOR_HD std::uint32_t flushed_ssds() const {
    if (info().plain()) return 1;
    return info().ssd_count - static_cast<std::uint32_t>(cuda::std::popcount(info().absent));
  }
  GNSTOR_HD io_part flushing(std::uint32_t k) const {
    io_part p;
    p.opcode = opcode::flush;
    p.namespace_id = info().namespace_id;
    p.ssds = split_.present(k);
    return p;
  }

  /// Begins an operation on a range.
  template <class Data>
  GNSTOR_HD result<io_ticket> begin(opcode op, const range& r, const Data& data,
                                    completion_call then) const {
    const status wrong = split_.checked(r, data);
    if (!wrong.ok()) return wrong;
    const auto io = channels_.mine().async();
    const result<ticket> operation = io.begin(then.callback, then.argument, r.ends);
    if (!operation) return operation.status;
    std::uint32_t parts = 0;
    status failed;
    split_.for_pieces(op, r, data, [&](const piece& p) {
      const std::uint32_t copies = op == opcode::read ? 1 : p.where.count;
      for (std::uint32_t k = 0; k < copies && failed.ok(); ++k) {
        const io_part part = op == opcode::read ? split_.reading(p) : split_.writing(op, p, k);
        failed = parts == 0 ? io.try_add(operation.value, part) : io.add(operation.value, part);
        ++parts;
      }
    });
    if (parts == 1 && failed.code == status_code::would_block) return nothing_sent(operation.value);
    return sent_all(operation.value, failed);
  }
  GNSTOR_HD result<io_ticket> nothing_sent(ticket operation) const {
    channels_.mine().async().cancel(operation);
    return status::make(status_code::would_block, reporter::channel);
  }
  GNSTOR_HD result<io_ticket> sent_all(ticket operation, status s) const {
    channels_.mine().async().end(operation, s);
    return io_ticket{operation, static_cast<std::uint16_t>(channels_.my_index())};
  }
  /// Reads from one replica; goes on to the next where another replica may do better.
  /// @param silent the SSDs that did not answer an earlier piece, by bit: they are asked last
  GNSTOR_HD status read_any(const piece& p, deadline d, std::uint64_t& silent) const {
    detail::read_attempts attempts(split_.reading(p), silent);
    for (bounded tries{max_replicas}; tries;) {
      const status s = channels_.mine().execute(attempts.command(), attempts.turn(d));
      if (!attempts.again(s, silent)) break;
    }
    return attempts.outcome();
  }

  /// Sends `count` commands, `max_replicas` at most, at once as far as the channel has room, and
  /// waits for all.
  /// @param part `part(k)` is the k-th of them
  template <class Part>
  GNSTOR_HD status send_all(std::uint32_t count, const Part& part, deadline d) const {
    const Channel channel = channels_.mine();
    in_flight sent[max_replicas];
    std::uint32_t sent_count = 0;
    std::uint32_t settled = 0;
    status outcome;
    for (std::uint32_t k = 0; k < count; ++k) {
      const io_part one = part(k);
      const auto c = one.command();
      result<ticket> t = channel.submit(c);
      for (until more{d}; more && t.status.code == status_code::would_block;) {
        // A lane that waits for a slot holds none: lanes with one slot each would wait for each
        // other.
        if (settled < sent_count) {
          outcome = combined(outcome, answer(channel, sent[settled++], d));
        } else {
          (void)channel.make_room();
        }
        t = channel.submit(c);
      }
      if (t) {
        sent[sent_count++] = in_flight{t.value, one.ssd()};
      } else {
        const bool late = t.status.code == status_code::would_block;
        outcome = combined(
            outcome, late ? status::make(status_code::timed_out, reporter::volume) : t.status);
      }
    }
    for (; settled < sent_count; ++settled)
      outcome = combined(outcome, answer(channel, sent[settled], d));
    return outcome;
  }

  GNSTOR_HD static status answer(const Channel& channel, const in_flight& request, deadline d) {
    return named(channel.wait(request.sent, d), request.ssd.value);
  }

  template <simt::warp_group G>
  GNSTOR_HD static status together(const G& g, status mine) {
    const std::uint32_t failed = g.ballot(mine.failed());
    const std::uint32_t late = g.ballot(mine.left_behind());
    g.sync();  // the data that other lanes received
    if ((failed | late) == 0) return mine;
    const std::uint32_t first_failed = failed != 0 ? failed : late;
    const std::uint32_t first_late = (failed & late) != 0 ? failed & late
                                     : late != 0          ? late
                                                          : failed;
    const status a =
        status::unpack(g.shfl(mine.pack(), static_cast<int>(cuda::std::countr_zero(first_failed))));
    const status b =
        status::unpack(g.shfl(mine.pack(), static_cast<int>(cuda::std::countr_zero(first_late))));
    return combined(a, b);
  }

  detail::volume_split<Placement> split_;
  channel_set<Channel> channels_;
};

}  // namespace gnstor::inline v0

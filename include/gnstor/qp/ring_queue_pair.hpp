#pragma once

#include <gnstor/qp/handover_doorbell.hpp>
#include <gnstor/qp/queue_bar.hpp>
#include <gnstor/qp/queue_pair.hpp>
#include <gnstor/qp/sharing_policy.hpp>

namespace gnstor::detail {

/// The indices of a queue pair whose device reads a ring of requests in memory and writes a ring of
/// completions there: who may write which entry, how far they are published and announced, and who
/// takes which completion. What entries, completions and doorbells look like is the rings'.
///
/// Words that only this side's lanes share are of device scope: read-modify-writes of system scope
/// do not reach host memory over PCIe.
/// @tparam Rings the device's bytes: `mlx5_rings`, `nvme_pcie_rings`
/// @tparam Sharing who uses the queue pair at once
template <class Rings, sharing_policy Sharing>
class ring_queue_pair {
 public:
  /// One lane at a time uses it: see `sharing_policy`.
  static constexpr bool alone = Sharing::alone;
  using rings_type = Rings;

  GNSTOR_HD explicit ring_queue_pair(const Rings& rings) : rings_(rings) {}

  GNSTOR_HD const Rings& rings() const { return rings_; }
  GNSTOR_HD std::uint32_t depth() const { return rings_.depth(); }

  /// Hands out `n` consecutive send indices, or would_block.
  /// @par Callers one lane, for its group; `n` <= depth
  /// @par Order acquires what `retire` released: the slots are free. Other lanes need `g.sync()`
  /// before they write
  /// @par Bound 64 attempts
  GNSTOR_HD result<std::uint64_t> try_reserve(std::uint32_t n) const {
    if (n == 0 || n > depth())
      return status::make(status_code::invalid_argument, reporter::queue_pair);
    std::uint64_t head = word(state().reserved).load(relaxed);
    for (bounded tries{64}; tries;) {
      const std::uint64_t retired = word(state().retired).load(acquire);
      if (head + n - retired > depth()) break;
      if (word(state().reserved).compare_exchange(head, head + n, relaxed)) return head;
    }
    return status::make(status_code::would_block, reporter::queue_pair);
  }

  /// Writes the send entry `index` for a 64-byte command capsule.
  /// @par Callers the lane that owns the reserved `index`
  GNSTOR_HD void write_send(std::uint64_t index,
                            const wire::nvme::submission_entry& capsule) const {
    rings_.write_send(index, capsule);
  }
  /// Writes the send entry `index` as a NOP: what a lane does that reserved and then gave up.
  GNSTOR_HD void write_nop(std::uint64_t index) const { rings_.write_nop(index); }

  /// Announces that the entries [first, first + n) are written. Never waits: it moves the published
  /// index over every reservation that is complete, whoever wrote it.
  /// @par Callers one lane for its group, after `g.sync()`
  /// @par Order releases the entries to whoever rings
  /// @par Bound depth + 1 steps
  GNSTOR_HD void publish(std::uint64_t first, std::uint32_t n) const {
    if constexpr (Sharing::alone) return word(state().published).store(first + n, relaxed);
    std::uint64_t at = first;
    if (word(state().published).compare_exchange(at, first + n, acq_rel)) {
      at = first + n;  // everything before was published: no mark is needed
    } else {
      // Paired with the acquire load of the same word below, by the lane that publishes the entry
      // before it.
      word(reservation(first)).store(first << 16 | n, release);
      // A read-modify-write, not a load: it joins the chain of publishers, so that one of two
      // neighbours sees the other.
      at = word(state().published).fetch_add(0, acq_rel);
    }
    for (bounded steps{std::uint64_t{depth()} + 1}; steps;) {
      const std::uint64_t end = marked_from(at);
      if (end == at) return;
      if (word(state().published).compare_exchange(at, end, acq_rel)) at = end;
    }
  }

  /// Tells the NIC about everything published so far, and gives back the receives of all responses
  /// taken so far. So a receive is posted for every request that the NIC knows, as long as whoever
  /// sends keeps a request's slot until its response was taken.
  /// @par Callers one lane of a group
  /// @par Order entries and receives before the doorbell record, the record before the register
  GNSTOR_HD void ring() const {
    // Who polls alone gives receives back alone.
    if constexpr (Sharing::alone) return rings_.announce(word(state().published).load(relaxed));
    const auto look = [this] {
      progress now;
      now.last = rings_.last_rung();  // asked for with what follows
      now.published = word(state().published).load(acquire);
      // After that: whoever published had found the receives of its slots' former requests counted.
      now.received = received_word().load(acquire);
      return now;
    };
    const auto write = [this](const progress& now) {
      rings_.announce(now.published, now.received, now.last);
    };
    // Receives alone are worth a doorbell when half of the ring is used.
    const auto more = [this](const progress& before) {
      const std::uint64_t received = received_word().load(relaxed);  // asked for with this:
      const std::uint64_t published = word(state().published).load(acquire);
      return published != before.published ||
             received - before.received >= Rings::receives_kept(depth());
    };
    handover_ring(state().send_lock, look, write, more);
  }

  /// Takes up to one completion a lane.
  /// @par Callers every lane of `g`, converged
  /// @par Result each lane its own completion, or kind `none`
  /// @par Order acquires what the NIC wrote before the entry: the payload of the request is visible
  /// to the lane that got its response, and to others after `g.sync()`
  /// @par Bound one look
  GNSTOR_HD completion poll(const simt::group& g) const {
    std::uint64_t first = 0;
    if (g.leads()) first = word(state().consumed).load(acquire);
    first = g.broadcast(first);
    // The leader's acquire reaches every lane: without it a lane could take an entry of two laps
    // ago for a new one.
    g.sync();
    const std::uint64_t mine = first + g.thread_rank();
    const std::uint32_t tail = rings_.tail(mine);
    const bool valid = rings_.is_valid(tail, mine);
    completion out;
    if constexpr (Rings::every_completion) {
      out = rings_.decode(mine, tail);  // no branch: its lanes go on together
    } else if (valid) {
      out = rings_.decode(mine, tail, [this] { return word(state().reserved).load(relaxed); });
    }
    // The loads above must come before the claim below, which validates them: an entry is
    // overwritten only once claimed.
    const std::uint32_t ready = g.leading(valid);
    if (ready == 0) return completion{};
    g.sync();
    std::uint32_t claimed = 0;
    if (g.leads()) {
      std::uint64_t expected = first;
      claimed =
          word(state().consumed).compare_exchange(expected, first + ready, acq_rel) ? ready : 0;
    }
    claimed = g.broadcast(claimed);
    g.sync();
    const bool won = g.thread_rank() < claimed;
    std::uint32_t responses = claimed;
    if constexpr (!Rings::every_completion)
      responses = g.count(won && out.kind == completion_kind::response);
    if (responses != 0 && g.leads()) count_receives(first + claimed, responses);
    g.sync();  // who sends the next request finds its receive counted
    return won ? out : completion{};
  }

  /// Request `index` and all before it have left the send queue.
  /// @par Order releases the slots to `try_reserve`
  GNSTOR_HD void retire(std::uint64_t index) const {
    word(state().retired).fetch_max(index + 1, release);
  }

  /// The id of the command last written at `index`: tells which request a failed entry carried.
  GNSTOR_HD command_id sent_id(std::uint64_t index) const { return rings_.sent_id(index); }

  /// From one life of the queue pair to the next: `restartable_queue_pair`.
  GNSTOR_HD queue_bar bar() const { return restarting().bar(); }
  GNSTOR_HD bool is_written(std::uint64_t end) const {
    return word(state().published).load(acquire) >= end;
  }
  GNSTOR_HD std::uint64_t taken() const { return word(state().consumed).load(acquire); }
  GNSTOR_HD bool restart(std::uint64_t next) const { return restarting().restart(next); }
  GNSTOR_HD bool open(std::uint64_t next) const { return restarting().open(next); }

  /// Send indices published so far.
  GNSTOR_HD std::uint64_t published() const { return word(state().published).load(relaxed); }
  /// Send indices announced so far, never too many: the doorbell record's 16 bits, near
  /// `published`.
  GNSTOR_HD std::uint64_t announced() const { return rings_.announced(published()); }

 protected:
  using shared_word = typename Sharing::template word<std::uint64_t>;
  GNSTOR_HD static shared_word word(std::uint64_t& w) { return shared_word(w); }
  GNSTOR_HD auto& state() const { return rings_.state(); }

 private:
  GNSTOR_HD auto restarting() const { return rings_.restarting(); }
  GNSTOR_HD std::uint64_t& reservation(std::uint64_t index) const {
    return rings_.reservation(index);
  }

  /// What is announced to the NIC, and what was before.
  struct progress {
    typename Rings::rung_indices last;
    std::uint64_t published = 0;
    std::uint64_t received = 0;
  };

  /// The word that says how many responses have been copied out. Where every completion is one,
  /// that is how many were claimed: what is claimed has been copied.
  GNSTOR_HD shared_word received_word() const {
    if constexpr (Rings::every_completion) {
      return word(state().consumed);
    } else {
      return word(state().received);
    }
  }
  /// `n` responses have been copied out, so their receives are free. Claims are in order, so the
  /// number alone says which, in whatever order pollers come to count. They go back with the next
  /// doorbell; where none comes, when half of the ring is used, so that answers that nobody asked
  /// for (a peer that answers twice) leave none without a receive.
  /// @param claimed completions taken with them
  GNSTOR_HD void count_receives(std::uint64_t claimed, std::uint32_t n) const {
    std::uint64_t taken = claimed;
    if constexpr (!Rings::every_completion) taken = received_word().fetch_add(n, acq_rel) + n;
    if constexpr (Sharing::alone) return rings_.give_receives(taken);
    const std::uint32_t kept = Rings::receives_kept(depth());
    if ((taken & (kept - 1)) < n && taken - rings_.given(taken) >= kept) ring();
  }
  /// The end of the reservations that are marked as complete from index `at` on: read one after
  /// another, so that the shared word moves over all of them in one step.
  GNSTOR_HD std::uint64_t marked_from(std::uint64_t at) const {
    const std::uint64_t most = at + depth();
    for (bounded marks{depth()}; marks && at < most;) {
      const std::uint64_t mark = word(reservation(at)).load(acquire);
      const std::uint64_t count = mark & 0xffff;
      if (count == 0 || mark >> 16 != (at & 0xffffffffffffull)) break;
      at += count;
    }
    return at;
  }

  Rings rings_;
};

}  // namespace gnstor::detail

#pragma once

#include <afa/answer_for_dead.hpp>
#include <afa/break_queue.hpp>
#include <afa/command_router.hpp>
#include <afa/page_copy.hpp>
#include <afa/queue_drain.hpp>
#include <hca/queue_reader.hpp>
#include <hca/transfer.hpp>

namespace gnstor::fw {

/// Serves one queue pair: fetches send entries up to 32 at a time, routes their commands to the
/// shards, and sends the responses of finished commands.
///
/// Reads of one block it looks up itself, beside the shard's owner, and hands to the copy workers;
/// where few are waiting it copies and answers them in the same round, without any hand-over.
/// Exactly one warp (or CPU thread) runs the engine of a queue. Nothing in it waits: a round does
/// what can be done now.
class queue_engine {
 public:
  /// @par Callers the queue's owner
  GNSTOR_HD queue_engine(const node& n, std::uint32_t queue, grant_cache grants = {})
      : node_(&n),
        queue_(queue),
        context_(&n.queues[queue]),
        reader_({}, n.keys()),  // of nothing yet: the host may be writing down where the rings lie
        grants_(grants) {}

  /// One round of an owner that serves other engines too. True if anything was done.
  /// @par Callers every lane of `g`, converged; always the same owner
  GNSTOR_HD static bool tick(const node& n, std::uint32_t queue, const simt::group& g) {
    queue_engine engine(n, queue);
#if !defined(__CUDA_ARCH__)
    try {
#endif
      const bool busy = engine.tick(g);
      engine.save(g);
      return busy;
#if !defined(__CUDA_ARCH__)
    } catch (...) {
      engine.leave_behind();
      throw;
    }
#endif
  }

  /// One round of an owner that serves nothing else, and keeps the engine from round to round.
  /// @par Callers as above, with the same engine in every lane; `save` before it goes
  GNSTOR_HD bool tick(const simt::group& g) {
    bool busy = away_ && look_again(g);
    if (!away_) {
      const signs seen = look(g);
      if (!seen.serving) {
        save(g);
        away_ = true;
      } else {
        if (seen.finished) busy = respond(g);
        if (seen.bell || now_.work_left != 0) busy = fetch(g) || busy;
        if (now_.rounds % dead_rounds == 0) busy = answer_for_dead(*node_, queue_, g) || busy;
      }
    }
    // Nothing seen in this round is used in the next.
    if ((++now_.rounds % quiet_rounds == 0 || away_) && g.leads())
      node_->quiescence().quiet(queue_);
    return busy;
  }
  GNSTOR_HD std::uint64_t completions() const { return now_.completion_tail; }  ///< written so far
  /// The same once an assertion has failed: whoever breaks the queue pair goes on from there.
  GNSTOR_HD void leave_behind() const {
    if (!away_) static_cast<queue_progress&>(*context_) = now_;
  }
  /// Writes down how far the queue has come. @par Callers as `tick`
  GNSTOR_HD void save(const simt::group& g) const {
    g.sync();  // no lane reads what was written down before
    if (g.leads() && !away_) static_cast<queue_progress&>(*context_) = now_;
    g.sync();
  }

 private:
  static constexpr std::uint32_t quiet_rounds = 8;  ///< `reader_quiescence::quiet` every so many
  static constexpr std::uint32_t direct_most = 2;   ///< pages that are not worth a hand-over
  static constexpr std::uint32_t most_waits = 2;    ///< rounds that answers wait for others

  /// What an idle round looks at.
  struct signs {
    bool serving = false;
    bool bell = false;      ///< the doorbell was rung
    bool finished = false;  ///< a command came back
  };

  /// Looks at everything at once: loads without an order wait for memory together, and the one that
  /// has one comes last. Who finds a command finished loads again, in order.
  GNSTOR_HD signs look(const simt::group& g) {
    const bool finished = node_->done_ring(queue_).seems_there(now_.done_head);
    std::uint32_t bits = 0;
    if (g.leads()) {
      const std::uint32_t active = device_word<std::uint32_t>(context_->active).load(relaxed);
      const std::uint32_t changes = node_->keys().changes();
      const std::uint64_t bell = reader_.doorbell();
      bits = (active == static_cast<std::uint32_t>(queue_life::serving) ? 1 : 0) |
             (bell != now_.doorbell_seen ? 2 : 0) | (finished ? 4 : 0) |
             (changes != key_changes_ ? 8 : 0);
      now_.doorbell_seen = bell;
      key_changes_ = changes;
    }
    bits = g.broadcast(bits);
    if ((bits & 8) != 0) reader_.forget_keys();
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
  }

  /// A round of an engine whose queue was not served. True if anything was done.
  GNSTOR_HD bool look_again(const simt::group& g) {
    std::uint32_t active = 0;
    if (g.leads()) active = device_word<std::uint32_t>(context_->active).load(acquire);
    const auto life = static_cast<queue_life>(g.broadcast(active));
    g.sync();
    if (life == queue_life::draining) return queue_drain(*node_, queue_).tick(g);
    if (life == queue_life::cut) return cut_queue(*node_, queue_, g);
    if (life != queue_life::serving) return false;
    reader_ = queue_reader(context_->at, node_->keys());
    now_ = *context_;
    away_ = false;
    return false;
  }
  GNSTOR_HD std::uint32_t* stack() const {
    return node_->free_slots + std::uint64_t{queue_} * node_->shape.max_depth;
  }
  GNSTOR_HD std::uint32_t handle_of(std::uint32_t slot) const {
    return queue_ * node_->shape.max_depth + slot;
  }
  GNSTOR_HD static std::uint32_t least(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
  /// The number of lanes before this one for which the bit in `mask` is set.
  GNSTOR_HD static std::uint32_t before(const simt::group& g, std::uint32_t mask) {
    return static_cast<std::uint32_t>(cuda::std::popcount(mask & ((1u << g.thread_rank()) - 1)));
  }

  // ---- responses

  GNSTOR_HD bool respond(const simt::group& g) {
    const handle_ring done = node_->done_ring(queue_);
    const std::uint64_t head = now_.done_head;
    std::uint32_t handle = 0;
    std::uint32_t ready = g.leading(done.peek(head + g.thread_rank(), handle));
    if (ready == 0) return false;
    const bool broken = now_.broken != 0;
    // Reads that a client sent together come back together: one round for all costs no more than
    // one for the first. Nobody waits for writes, which take their time.
    if (ready < least(now_.reads_away, g.size()) && now_.waited++ < most_waits && !broken)
      return false;
    now_.waited = 0;
    if (!broken) ready = least(ready, posted(g, ready));
    if (ready == 0) return false;  // receiver not ready: the peer has to post a receive first
    const bool mine = g.thread_rank() < ready;
    bool delivered = true;
    if (mine && !broken) {
      const auto into = reader_.receive(now_.receive_head + g.thread_rank());
      delivered = answer(node_->commands[handle], g.thread_rank(), into);
    }
    const bool all = g.all(delivered);
    if (mine) stack()[now_.free_commands + g.thread_rank()] = handle - handle_of(0);
    g.sync();
    now_.done_head += ready;
    now_.reads_away -= least(now_.reads_away, ready);  // whichever they were: it is a guess
    now_.free_commands += ready;
    if (!broken) answered(ready, all);
    return true;
  }

  /// Receives that the peer has posted and no response has used yet: at least so many, and all
  /// where fewer than `wanted` were known.
  GNSTOR_HD std::uint32_t posted(const simt::group& g, std::uint32_t wanted) {
    const auto known = static_cast<std::uint16_t>(now_.receive_tail - now_.receive_head);
    if (known >= wanted) return known;
    std::uint32_t tail = 0;
    if (g.leads()) tail = reader_.receive_tail();
    now_.receive_tail = g.broadcast(tail);
    g.sync();
    return static_cast<std::uint16_t>(now_.receive_tail - now_.receive_head);
  }
  /// `n` responses are out; one that could not be delivered breaks the queue pair.
  GNSTOR_HD void answered(std::uint32_t n, bool all_delivered) {
    now_.receive_head += n;
    now_.completion_tail += n;
    if (!all_delivered) now_.broken = 1;
  }

  /// Sends the response of a finished command, the `rank`-th of this round: receive entry, then
  /// completion entry.
  /// @param into its receive
  GNSTOR_HD bool answer(const command_head& c, std::uint32_t rank,
                        const wire::mlx5::data_segment& into) {
    wire::nvme::completion_entry response{};
    response.dw0 = c.result;
    response.sq_head = static_cast<std::uint16_t>(now_.send_head & (reader_.send_entries() - 1));
    response.command_id = c.entry.command_id;
    response.status = c.status;
    const std::uint64_t receive = now_.receive_head + rank;
    const std::uint64_t at = now_.completion_tail + rank;
    if (reader_.respond(at, receive, into, response)) return true;
    reader_.complete(at, wire::mlx5::cqe_opcode::responder_error, receive, 0,
                     wire::mlx5::syndrome::local_protection_error);
    return false;
  }

  // ---- requests

  GNSTOR_HD bool fetch(const simt::group& g) {
    std::uint32_t waiting = 0;
    if (g.leads()) waiting = reader_.sends_after(now_.send_head, now_.doorbell_seen);
    waiting = g.broadcast(waiting);
    g.sync();
    const std::uint64_t head = now_.send_head;
    const std::uint32_t stride = now_.wide != 0 ? 2 : 1;
    const std::uint32_t room = now_.broken != 0 ? 32 : now_.free_commands;
    const std::uint32_t count = least(least((waiting + stride - 1) / stride, room), g.size());
    now_.work_left = waiting > 0;
    if (count == 0) return false;
    decoded_request r;
    if (waiting > reader_.send_entries()) {
      r.fault = wire::mlx5::syndrome::local_queue_pair_error;  // the doorbell ran back or ahead
    } else if (g.thread_rank() < count) {
      r = reader_.request(head + g.thread_rank() * stride, stride == 2);
    }
    const bool sound =
        now_.broken == 0 && r.fault == wire::mlx5::syndrome::none &&
        g.thread_rank() * stride + r.blocks <= waiting &&
        (r.opcode == wire::mlx5::opcode::send || r.opcode == wire::mlx5::opcode::nop);
    const std::uint32_t run = g.leading(sound && r.blocks == stride && g.thread_rank() < count);
    if (run == 0) {
      // What only the other stride fits is taken with that one, in the next round.
      const bool other = g.broadcast(static_cast<std::uint32_t>(sound)) != 0;
      if (other) now_.wide = 2 - stride;
      if (!other) serve_one(g, head, waiting);
    } else {
      // Until Connect each command depends on the one before it: one at a time.
      if (!accept(g, least(run, now_.joined.connected != 0 ? 32 : 1), stride, r)) {
        g.sync();
        const auto taken = static_cast<std::uint32_t>(now_.send_head - head);
        serve_one(g, now_.send_head, waiting - taken, wire::mlx5::syndrome::local_access_error);
      }
    }
    g.sync();
    return true;
  }

  /// Accepts the sends among the first `run` entries, of `stride` blocks each. False if it stopped
  /// before one whose key does not open its data: that entry is the first of what is left.
  GNSTOR_HD bool accept(const simt::group& g, std::uint32_t run, std::uint32_t stride,
                        const decoded_request& r) {
    const std::uint32_t wanted = run;
    command_router::decision d;
    run = decide(g, run, r, d);
    const bool mine = g.thread_rank() < run;
    const bool send = mine && r.opcode == wire::mlx5::opcode::send;
    const std::uint32_t signalled = g.ballot(mine && r.signalled);
    if (mine && r.signalled) {
      reader_.complete(now_.completion_tail + before(g, signalled),
                       wire::mlx5::cqe_opcode::requester, r.index, 0, wire::mlx5::syndrome::none,
                       r.opcode);
    }
    now_.send_head += std::uint64_t{run} * stride;
    now_.completion_tail += static_cast<std::uint32_t>(cuda::std::popcount(signalled));
    if (now_.joined.connected == 0) now_.joined = of_leader(g, d.joined);
    const command_head& c = d.command;
    const std::uint32_t page = d.page;
    const bool found = send && page != node::ssd::no_page;
    const std::uint32_t reads = g.ballot(found);
    const auto read_count = static_cast<std::uint32_t>(cuda::std::popcount(reads));
    // A page copied in this round needs no pin, and its command no slot.
    const bool direct = read_count != 0 && !node_->is_paced() && read_count <= direct_most &&
                        posted(g, read_count) >= read_count;
    if (direct) {
      g.sync();  // what one lane acquired all of them copy
      const auto into = reader_.receive(now_.receive_head + before(g, reads));
      if (node_->shape.check_reads == 0) {
        for (std::uint32_t left = reads; left != 0; left &= left - 1) {
          const int rank = cuda::std::countr_zero(left);
          deliver(g, reinterpret_cast<void*>(g.shfl(c.entry.dptr.address, rank)),
                  reinterpret_cast<const void*>(g.shfl(page_at(c, page), rank)), block_bytes);
        }
      } else {
        const std::uint32_t seal = found ? node_->ssds[c.ssd].seal_of(page) : 0;
        const std::uint32_t damaged =
            checked_reads(g, reads, page_at(c, page), c.entry.dptr.address, seal);
        if ((damaged >> g.thread_rank() & 1) != 0) d.command.status = damaged_page;
      }
      g.sync();
      bool delivered = true;
      if (found) delivered = answer(c, before(g, reads), into);
      answered(read_count, g.all(delivered));
    }
    const bool keeps = send && !(direct && found);
    const std::uint32_t kept = g.ballot(keeps);
    if (kept == 0) return run == wanted;
    std::uint32_t handle = 0;
    if (keeps) {
      handle = handle_of(stack()[now_.free_commands - 1 - before(g, kept)]);
      io_command& slot = node_->commands[handle];
      if (found) {
        node_->ssds[c.ssd].pin(page);
        node_->pages(handle)[0] = page;
      }
      static_cast<command_head&>(slot) = c;
      if (c.stage == command_stage::lookup) node_->inbox(c.ssd, c.where.shard).push(handle);
      if (c.stage == command_stage::done) finish(c, handle);
      if (c.stage == command_stage::lost) note_lost(*node_, queue_, handle);
    }
    node_->push_copies(g, queue_, keeps && found ? 1 : 0, handle * node_->transfer_blocks());
    now_.reads_away += direct ? 0 : read_count;
    now_.free_commands -= static_cast<std::uint32_t>(cuda::std::popcount(kept));
    return run == wanted;
  }
  /// Decides about the sends among the first `run` entries. Returns how many of these come before
  /// the first whose key does not open its data.
  GNSTOR_HD std::uint32_t decide(const simt::group& g, std::uint32_t run, const decoded_request& r,
                                 command_router::decision& d) {
    const bool send = g.thread_rank() < run && r.opcode == wire::mlx5::opcode::send;
    d.joined = now_.joined;
    if (send) command_router(*node_, queue_, reader_, grants_).decide(reader_.capsule(r), d);
    grants_.learn(g, d.learnt, d.command.ssd, d.known);
    const std::uint32_t refused = g.ballot(send && d.command.stage == command_stage::refused);
    return refused == 0 ? run : static_cast<std::uint32_t>(cuda::std::countr_zero(refused));
  }
  /// A command that needs no shard. A Flush takes its medium's time; what is refused is so at once.
  GNSTOR_HD void finish(const command_head& c, std::uint32_t handle) const {
    const bool flush = c.admin == 0 && c.status == 0 &&
                       c.entry.opcode == static_cast<std::uint8_t>(wire::nvme::nvm_opcode::flush);
    if (flush) return node_->finish(queue_, c.ssd, handle);
    node_->done_ring(queue_).push(handle);
  }
  GNSTOR_HD static std::uint64_t page_at(const command_head& c, std::uint32_t page) {
    return c.media + std::uint64_t{page} * block_bytes;
  }
  /// What a Connect in the round's first entry has bound, in every lane.
  GNSTOR_HD static association of_leader(const simt::group& g, const association& mine) {
    return {.connected = g.broadcast(mine.connected),
            .queue_id = g.broadcast(mine.queue_id),
            .controller = g.broadcast(mine.controller),
            .client = client_id(g.broadcast(mine.client.value)),
            .host = client_id(g.broadcast(mine.host.value))};
  }

  /// Serves the entry at `head` alone: one-sided transfers, faults, and what a broken queue pair
  /// flushes. @param found a fault that was found before
  GNSTOR_HD void serve_one(const simt::group& g, std::uint64_t head, std::uint32_t waiting,
                           wire::mlx5::syndrome found = wire::mlx5::syndrome::none) {
    decoded_request r = reader_.request(head);
    if (found != wire::mlx5::syndrome::none) r.fault = found;
    const bool overrun = waiting > reader_.send_entries() || (r.known && r.blocks > waiting);
    if (overrun) r.fault = wire::mlx5::syndrome::local_queue_pair_error;
    if (now_.broken != 0) r.fault = wire::mlx5::syndrome::flushed;
    if (r.fault == wire::mlx5::syndrome::none) r.fault = one_sided(g, r);
    g.sync();
    // Each lane decoded the entry for itself; the peer might change it meanwhile. The leader's word
    // counts.
    const auto fault =
        static_cast<wire::mlx5::syndrome>(g.broadcast(static_cast<std::uint32_t>(r.fault)));
    const bool failed = fault != wire::mlx5::syndrome::none;
    const bool tells = g.broadcast(static_cast<std::uint32_t>(failed || r.signalled)) != 0;
    if (tells && g.leads()) {
      const auto kind =
          failed ? wire::mlx5::cqe_opcode::requester_error : wire::mlx5::cqe_opcode::requester;
      reader_.complete(now_.completion_tail, kind, head, r.local.bytes(), fault, r.opcode);
    }
    now_.completion_tail += tells ? 1 : 0;
    if (failed) now_.broken = 1;
    // What an overrun announces is no request: nothing of it is flushed.
    now_.send_head =
        head + g.broadcast(overrun ? waiting : (r.known ? r.blocks : std::uint32_t{1}));
  }

  GNSTOR_HD wire::mlx5::syndrome one_sided(const simt::group& g, const decoded_request& r) {
    if (r.opcode != wire::mlx5::opcode::rdma_read && r.opcode != wire::mlx5::opcode::rdma_write) {
      return wire::mlx5::syndrome::local_queue_pair_error;
    }
    const bool write = r.opcode == wire::mlx5::opcode::rdma_write;
    const std::uint32_t bytes = r.local.bytes();
    if (!reader_.opens(r.remote.rkey(), r.remote.address(), bytes,
                       write ? remote_write : remote_read)) {
      return wire::mlx5::syndrome::remote_access_error;
    }
    auto* here = reinterpret_cast<void*>(r.local.address());
    auto* there = reinterpret_cast<void*>(r.remote.address());
    deliver(g, write ? there : here, write ? here : there, bytes);
    return wire::mlx5::syndrome::none;
  }

  const node* node_;
  std::uint32_t queue_;
  queue_context* context_;
  queue_reader reader_;
  grant_cache grants_;
  queue_progress now_;
  std::uint32_t key_changes_ = 0;  ///< the leader's: of the table of keys, as last seen
  bool away_ = true;               ///< the queue is not served: memory knows how far it has come
};

}  // namespace gnstor::fw

#pragma once

#include <hca/queue_reader.hpp>
#include <hca/transfer.hpp>

#include <remote_memory/memory_node.hpp>

namespace gnstor::fw {

/// Serves one queue pair of a memory node: fetches send entries up to 32 at a time, checks their
/// keys, hands their bytes to the copy workers, and completes them in their order.
///
/// Exactly one warp (or lane of the host runtime) runs the engine of a queue. Nothing in it waits:
/// a round does what can be done now.
class transfer_engine {
 public:
  /// @par Callers the queue's owner
  GNSTOR_HD transfer_engine(const memory_node& n, std::uint32_t queue)
      : node_(&n), queue_(queue), reader_(n.queues[queue].at, n.keys()), now_(n.queues[queue]) {}

  /// One round. True if anything was done.
  /// @par Callers every lane of `g`, converged, with the same engine in every lane
  GNSTOR_HD bool tick(const simt::group& g) {
    if (!serves_) {
      const bool drained = look_again(g);
      if (!serves_) return drained;
    }
    const std::uint32_t signs = look(g);
    serves_ = (signs & leaves) == 0;
    if (!serves_) return true;
    bool busy = now_.done_head != now_.send_head && retire(g);
    if ((signs & rung) != 0 || now_.work_left != 0) busy = fetch(g) || busy;
    return busy;
  }

  /// Writes down how far the queue has come. @par Callers as `tick`
  GNSTOR_HD void save(const simt::group& g) const {
    g.sync();  // no lane reads what was written down before
    if (g.leads()) static_cast<queue_progress&>(node_->queues[queue_]) = now_;
    g.sync();
  }

 private:
  static constexpr std::uint32_t rung = 1;
  static constexpr std::uint32_t keys_changed = 2;
  static constexpr std::uint32_t leaves = 4;
  static constexpr std::uint32_t direct_bytes = 4096;  ///< a lone transfer not worth a hand-over
  static constexpr std::uint32_t least_piece = 4096;

  /// Looks at the doorbell and at the table of keys: a key that is withdrawn opens nothing in the
  /// rounds that follow.
  GNSTOR_HD std::uint32_t look(const simt::group& g) {
    std::uint32_t bits = 0;
    if (g.leads()) {
      const std::uint32_t changes = node_->keys().changes();
      const std::uint64_t bell = reader_.doorbell();
      const std::uint32_t life = active().load(relaxed);
      bits = (bell != now_.doorbell_seen ? rung : 0) |
             (changes != key_changes_ ? keys_changed : 0) |
             (life != static_cast<std::uint32_t>(queue_life::serving) ? leaves : 0);
      now_.doorbell_seen = bell;
      key_changes_ = changes;
    }
    bits = g.broadcast(bits);
    if ((bits & keys_changed) != 0) reader_.forget_keys();
    return bits;
  }
  GNSTOR_HD system_word<std::uint32_t> active() const {
    return system_word<std::uint32_t>(node_->queues[queue_].active);
  }

  /// A round while the queue is not served. True if anything was done.
  GNSTOR_HD bool look_again(const simt::group& g) {
    std::uint32_t word = 0;
    if (g.leads()) word = active().load(acquire);
    const auto life = static_cast<queue_life>(g.broadcast(word));
    g.sync();
    if (life == queue_life::draining) return drain(g);
    if (life != queue_life::serving) return false;
    reader_ = queue_reader(node_->queues[queue_].at, node_->keys());
    now_ = node_->queues[queue_];
    serves_ = true;
    return false;
  }
  /// Waits for what the copy workers have, completes nothing, and then forgets the queue: nothing
  /// of its earlier transfers can happen any more.
  GNSTOR_HD bool drain(const simt::group& g) {
    const std::uint32_t ready = in_place(g);
    g.sync();
    now_.done_head += ready;
    if (now_.done_head != now_.send_head) return ready != 0;
    now_ = queue_progress{};
    save(g);
    // Paired with the acquire load of who asked for it.
    if (g.leads()) active().store(static_cast<std::uint32_t>(queue_life::drained), release);
    g.sync();
    return true;
  }
  GNSTOR_HD transfer_slot& slot(std::uint64_t index) const {
    return node_->transfers[slot_number(index)];
  }
  GNSTOR_HD std::uint32_t slot_number(std::uint64_t index) const {
    const std::uint32_t depth = node_->shape.max_depth;
    return queue_ * depth + static_cast<std::uint32_t>(index & (depth - 1));
  }
  GNSTOR_HD std::uint64_t under_way() const { return now_.send_head - now_.done_head; }
  GNSTOR_HD static std::uint32_t least(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
  /// The number of lanes before this one for which the bit in `mask` is set.
  GNSTOR_HD static std::uint32_t before(const simt::group& g, std::uint32_t mask) {
    return static_cast<std::uint32_t>(cuda::std::popcount(mask & ((1u << g.thread_rank()) - 1)));
  }

  /// How many transfers are in place of the oldest, one per lane.
  GNSTOR_HD std::uint32_t in_place(const simt::group& g) const {
    const std::uint64_t mine = now_.done_head + g.thread_rank();
    bool done = mine < now_.send_head;
    // Paired with the release of each piece's worker.
    if (done) done = device_word<std::uint32_t>(slot(mine).remaining).load(acquire) == 0;
    return g.leading(done);
  }

  /// Completes the transfers that are in place, oldest first: up to one per lane. Those behind one
  /// that is not wait for it, as on a reliable connection.
  GNSTOR_HD bool retire(const simt::group& g) {
    const std::uint64_t mine = now_.done_head + g.thread_rank();
    const std::uint32_t ready = in_place(g);
    if (ready == 0) return false;
    g.sync();  // what each lane acquired goes out with every completion
    const bool tells = g.thread_rank() < ready && slot(mine).signalled != 0;
    const std::uint32_t reported = g.ballot(tells);
    if (tells) complete(now_.completion_tail + before(g, reported), mine, slot(mine));
    now_.completion_tail += static_cast<std::uint32_t>(cuda::std::popcount(reported));
    now_.done_head += ready;
    g.sync();
    return true;
  }
  GNSTOR_HD void complete(std::uint64_t at, std::uint64_t index, const transfer_slot& t) const {
    reader_.complete(at, wire::mlx5::cqe_opcode::requester, index, t.bytes,
                     wire::mlx5::syndrome::none, static_cast<wire::mlx5::opcode>(t.opcode));
  }

  GNSTOR_HD bool fetch(const simt::group& g) {
    std::uint32_t waiting = 0;
    if (g.leads()) waiting = reader_.sends_after(now_.send_head, now_.doorbell_seen);
    waiting = g.broadcast(waiting);
    g.sync();  // the leader's acquire of the entries reaches the lanes that read them
    now_.work_left = waiting != 0;
    if (waiting == 0) return false;
    if (waiting > reader_.send_entries()) return overrun(g, waiting);
    if (now_.broken != 0) return flush(g, waiting);
    const auto room = static_cast<std::uint32_t>(node_->shape.max_depth - under_way());
    const std::uint32_t count = least(least(waiting, room), g.size());
    if (count == 0) return false;
    decoded_request r;
    if (g.thread_rank() < count) {
      r = reader_.request(now_.send_head + g.thread_rank());
      if (r.fault == wire::mlx5::syndrome::none) r.fault = fault_of(r);
    }
    const bool sound = g.thread_rank() < count && r.fault == wire::mlx5::syndrome::none;
    const std::uint32_t run = g.leading(sound);
    if (run == 0) {
      // In its order: what came before it is completed first.
      if (under_way() == 0) fail(g, r.fault);
      return under_way() == 0;
    }
    accept(g, run, r);
    return true;
  }
  /// What is wrong with a sound entry that this NIC does not serve, or that the peer's key does not
  /// open.
  GNSTOR_HD wire::mlx5::syndrome fault_of(const decoded_request& r) {
    if (r.blocks != 1) return wire::mlx5::syndrome::local_queue_pair_error;
    if (r.opcode == wire::mlx5::opcode::nop) return wire::mlx5::syndrome::none;
    if (r.opcode == wire::mlx5::opcode::send) return wire::mlx5::syndrome::remote_invalid_request;
    const bool write = r.opcode == wire::mlx5::opcode::rdma_write;
    const bool may = reader_.opens(r.remote.rkey(), r.remote.address(), r.local.bytes(),
                                   write ? remote_write : remote_read);
    return may ? wire::mlx5::syndrome::none : wire::mlx5::syndrome::remote_access_error;
  }

  /// Begins the first `run` transfers.
  GNSTOR_HD void accept(const simt::group& g, std::uint32_t run, const decoded_request& r) {
    const bool mine = g.thread_rank() < run;
    const bool moves = mine && r.opcode != wire::mlx5::opcode::nop && r.local.bytes() != 0;
    const std::uint64_t index = now_.send_head + g.thread_rank();
    const bool write = r.opcode == wire::mlx5::opcode::rdma_write;
    std::uint64_t to = 0;
    std::uint64_t from = 0;
    std::uint32_t bytes = 0;
    if (moves) {
      to = write ? r.remote.address() : r.local.address();
      from = write ? r.local.address() : r.remote.address();
      bytes = r.local.bytes();
    }
    const bool direct = run == 1 && under_way() == 0 && g.broadcast(bytes) <= direct_bytes;
    if (direct) {
      deliver(g, reinterpret_cast<void*>(g.broadcast(to)),
              reinterpret_cast<const void*>(g.broadcast(from)), g.broadcast(bytes));
      g.sync();
    }
    const std::uint32_t even = (bytes + memory_node::most_pieces - 1) / memory_node::most_pieces;
    const std::uint32_t piece = even < least_piece ? least_piece : (even + 15) / 16 * 16;
    const std::uint32_t pieces = mine && !direct ? (bytes + piece - 1) / piece : 0;
    if (mine) {
      transfer_slot& t = slot(index);
      t.to = to;
      t.from = from;
      t.bytes = bytes;
      t.piece_bytes = piece;
      t.signalled = r.signalled ? 1 : 0;
      t.opcode = static_cast<std::uint32_t>(r.opcode);
      // Relaxed: the ring hands all of it over.
      device_word<std::uint32_t>(t.remaining).store(pieces, relaxed);
    }
    now_.send_head += run;
    node_->copy_ring().push(g, pieces, slot_number(index) * memory_node::most_pieces);
    g.sync();
    if (direct) (void)retire(g);
  }

  /// The entry at the head fails, and with it the queue pair.
  GNSTOR_HD void fail(const simt::group& g, wire::mlx5::syndrome why) {
    // Each lane decoded for itself; the head's is the leader's.
    if (g.leads()) {
      reader_.complete(now_.completion_tail, wire::mlx5::cqe_opcode::requester_error,
                       now_.send_head, 0, why);
    }
    now_.completion_tail += 1;
    now_.send_head += 1;
    now_.done_head = now_.send_head;
    now_.broken = 1;
    g.sync();
  }
  /// The doorbell record went back, or ran ahead: what it announces is no request.
  GNSTOR_HD bool overrun(const simt::group& g, std::uint32_t waiting) {
    if (under_way() != 0) return false;
    fail(g, wire::mlx5::syndrome::local_queue_pair_error);
    now_.send_head += waiting - 1;
    now_.done_head = now_.send_head;
    return true;
  }
  /// Everything new on a broken queue pair comes back at once.
  GNSTOR_HD bool flush(const simt::group& g, std::uint32_t waiting) {
    const std::uint32_t count = least(waiting, g.size());
    if (g.thread_rank() < count) {
      reader_.complete(now_.completion_tail + g.thread_rank(),
                       wire::mlx5::cqe_opcode::requester_error, now_.send_head + g.thread_rank(), 0,
                       wire::mlx5::syndrome::flushed);
    }
    now_.completion_tail += count;
    now_.send_head += count;
    now_.done_head = now_.send_head;
    g.sync();
    return true;
  }

  const memory_node* node_;
  std::uint32_t queue_;
  queue_reader reader_;
  queue_progress now_;
  std::uint32_t key_changes_ = 0;  ///< the leader's: of the table of keys, as last seen
  bool serves_ = false;            ///< known from the first round on: the word may change meanwhile
};

}  // namespace gnstor::fw

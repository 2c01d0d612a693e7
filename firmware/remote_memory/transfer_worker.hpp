#pragma once

#include <hca/transfer.hpp>

#include <remote_memory/memory_node.hpp>

namespace gnstor::fw {

/// Copies pieces of transfers, one at a time. The keys were checked when the entry was fetched.
///
/// Each worker watches a ring cell of its own, so that idle workers do not meet.
class transfer_worker {
 public:
  GNSTOR_HD transfer_worker(const memory_node& n, std::uint32_t worker)
      : node_(&n), worker_(worker), ticket_(n.tickets[worker]) {}

  /// One round. True if a piece was copied.
  /// @par Callers every lane of `g`, converged; always the same owner
  /// @par Order releases the copied bytes to the transfer's engine
  GNSTOR_HD bool tick(const simt::group& g) {
    const handle_ring jobs = node_->copy_ring();
    std::uint32_t job = 0;
    std::uint32_t there = 0;
    if (g.leads()) {
      if (ticket_ == 0) ticket_ = jobs.take_ticket() + 1;
      there = jobs.peek(ticket_ - 1, job);
      if (there != 0) ticket_ = 0;
    }
    there = g.broadcast(there);
    if (there == 0) return false;
    job = g.broadcast(job);
    g.sync();  // the leader's acquire of the job reaches the other lanes
    copy(g, node_->transfers[job / memory_node::most_pieces], job % memory_node::most_pieces);
    return true;
  }

  /// Writes down which cell is watched.
  /// @par Callers as `tick`
  GNSTOR_HD void save(const simt::group& g) const {
    g.sync();  // no lane reads the one before
    if (g.leads()) node_->tickets[worker_] = ticket_;
    g.sync();
  }

 private:
  GNSTOR_HD static void copy(const simt::group& g, transfer_slot& t, std::uint32_t piece) {
    const std::uint64_t at = std::uint64_t{piece} * t.piece_bytes;
    const std::uint64_t rest = t.bytes - at;
    deliver(g, reinterpret_cast<unsigned char*>(t.to) + at,
            reinterpret_cast<const unsigned char*>(t.from) + at,
            rest < t.piece_bytes ? rest : t.piece_bytes);
    g.sync();
    // Paired with the acquire load in `transfer_engine::retire`, through the other pieces'.
    if (g.leads()) device_word<std::uint32_t>(t.remaining).fetch_sub(1, release);
  }

  const memory_node* node_;
  std::uint32_t worker_;
  std::uint64_t ticket_;  ///< the leader's: of the cell that is watched, plus 1; 0 for none
};

}  // namespace gnstor::fw

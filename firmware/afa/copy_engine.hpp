#pragma once

#include <afa/page_copy.hpp>
#include <gnstor/wire/nvme/nvm_opcode.hpp>
#include <hca/transfer.hpp>

namespace gnstor::fw {

/// Moves one 4 KiB page at a time between flash and a client's memory: the NIC's one-sided RDMA of
/// the data phase.
///
/// Each worker is one NIC's, and watches a cell of its own in that NIC's ring, so that idle workers
/// do not meet. The keys were checked when the command was fetched. Where the NIC's link is paced,
/// a page waits for it in the ring.
class copy_engine {
 public:
  GNSTOR_HD copy_engine(const node& n, std::uint32_t worker)
      : node_(&n), worker_(worker), ticket_(n.tickets[worker]) {}

  /// One round of an owner that serves other engines too. True if a page was copied.
  /// @par Callers every lane of `g`, converged; always the same owner
  GNSTOR_HD static bool tick(const node& n, std::uint32_t worker, const simt::group& g) {
    copy_engine engine(n, worker);
    const bool busy = engine.tick(g);
    engine.save(g);
    return busy;
  }

  /// One round of an owner that serves nothing else, and keeps the engine from round to round. True
  /// too while a page waits for the link, so that the owner does not sleep.
  /// @par Callers as above, with the same engine in every lane; `save` before it goes
  GNSTOR_HD bool tick(const simt::group& g) {
    const handle_ring jobs = node_->copy_ring(nic());
    std::uint32_t job = 0;
    std::uint32_t there = 0;
    if (g.leads()) {
      if (ticket_ == 0) ticket_ = jobs.take_ticket() + 1;
      there = jobs.peek(ticket_ - 1, job);
      if (there != 0 && is_link_busy()) there = waits;
      if (there == 1) ticket_ = 0;
    }
    there = g.broadcast(there);
    if (there != 1) return there == waits;
    job = g.broadcast(job);
    g.sync();  // the leader's acquire of the job reaches the other lanes
    run(g, job / node_->transfer_blocks(), job % node_->transfer_blocks());
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
  static constexpr std::uint32_t waits = 2;

  GNSTOR_HD std::uint32_t nic() const { return worker_ & (node_->shape.nics - 1); }
  /// True if the NIC's link has no time for a page now; else that time is taken.
  GNSTOR_HD bool is_link_busy() const {
    const std::uint64_t cost = node_->shape.page_cost;
    return cost != 0 && !node_->links[nic()].try_take(cost, cost);
  }
  GNSTOR_HD void run(const simt::group& g, std::uint32_t handle, std::uint32_t k) const {
    io_command& c = node_->commands[handle];
    auto* memory =
        reinterpret_cast<unsigned char*>(c.entry.dptr.address) + std::uint64_t{k} * block_bytes;
    const bool read_out = c.entry.opcode == static_cast<std::uint8_t>(wire::nvme::nvm_opcode::read);
    if (read_out && node_->sends()) {
      g.sync();  // all lanes have seen which it is: the command is somebody else's then
      if (g.leads()) node_->send_ring(nic()).push(handle);
      return;
    }
    const std::uint32_t page = node_->pages(handle)[k];
    auto* flash = reinterpret_cast<unsigned char*>(c.media) + std::uint64_t{page} * block_bytes;
    const bool single = c.where.blocks == 1;
    if (read_out) {
      read(g, handle, page, memory, flash, single);
    } else {
      write(g, handle, page, memory, flash, single);
    }
  }

  GNSTOR_HD void write(const simt::group& g, std::uint32_t handle, std::uint32_t page,
                       unsigned char* memory, unsigned char* flash, bool single) const {
    io_command& c = node_->commands[handle];
    const std::uint32_t crc = copy_page(g, flash, memory, true);
    if (g.leads()) node_->ssds[c.ssd].seal(page, crc);
    g.sync();
    bool damaged = false;
    if (!g.leads() || (!single && !is_last(c, damaged))) return;
    c.stage = command_stage::commit;
    node_->inbox(c.ssd, c.where.shard).push(handle);
  }

  GNSTOR_HD void read(const simt::group& g, std::uint32_t handle, std::uint32_t page,
                      unsigned char* memory, unsigned char* flash, bool single) const {
    io_command& c = node_->commands[handle];
    const node::ssd drive = node_->ssds[c.ssd];  // asked for before the copy, not after it
    const std::uint32_t queue = c.queue;
    const std::uint32_t ssd = c.ssd;
    bool damaged = false;
    if (page == node::ssd::no_page) {
      // In another epoch the block may belong elsewhere, and have been dropped here: zeroes are no
      // answer. Whoever dropped it knew that epoch.
      damaged = g.any(drive.epoch() != c.entry.cdw2 || drive.is_doubtful(c.where));
      // All lanes agree: they clear it together.
      if (!damaged) clear(g, memory);
    } else if (node_->shape.check_reads == 0) {
      deliver(g, memory, flash, block_bytes);
    } else {
      damaged = checked_reads(g, 1, reinterpret_cast<std::uint64_t>(flash),
                              reinterpret_cast<std::uint64_t>(memory), drive.seal_of(page)) != 0;
    }
    g.sync();
    if (!g.leads()) return;
    if (single || is_last(c, damaged)) {
      const bool late = damaged && drive.epoch() != c.entry.cdw2;
      if (damaged) c.status = late ? overtaken : damaged_page;
      c.stage = command_stage::done;
      node_->finish(queue, ssd, handle);
    }
    // Last: nobody waits for it. The command is somebody else's by now.
    if (page != node::ssd::no_page) drive.unpin(page);
  }

  /// Counts a page of a command; true for the last of them.
  /// @param damaged then true if any page was
  /// @par Order releases that this page is in place; acquires that the others are
  GNSTOR_HD static bool is_last(io_command& c, bool& damaged) {
    constexpr std::uint32_t one_damaged = 0x10000;  // above the pages that remain
    const std::uint32_t left =
        device_word<std::uint32_t>(c.remaining).fetch_add(damaged ? one_damaged - 1 : ~0u, acq_rel);
    damaged = damaged || left >= one_damaged;
    return left % one_damaged == 1;
  }

  /// A block never written reads as zeroes.
  GNSTOR_HD static void clear(const simt::group& g, unsigned char* memory) {
    const std::uint32_t skew =
        static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(memory) % 16);
    if (skew == 0) {
      for (std::uint32_t k = g.thread_rank(); k < block_bytes / 16; k += g.size()) {
        simt::store16_to_frame(memory + 16 * k, simt::word16{});
      }
    } else {
      for (std::uint32_t k = g.thread_rank(); k < block_bytes; k += g.size()) memory[k] = 0;
    }
  }

  const node* node_;
  std::uint32_t worker_;
  std::uint64_t ticket_;  ///< the leader's: of the cell that is watched, plus 1; 0 for none
};

}  // namespace gnstor::fw

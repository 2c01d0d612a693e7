#pragma once

#include <afa/admin_commands.hpp>
#include <afa/lba_status.hpp>
#include <afa/node.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/wire/afa/io_opcode.hpp>
#include <gnstor/wire/nvme/nvm_opcode.hpp>
#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::fw {

/// Owns one shard of one SSD: look-ups of up to 32 commands at once by the lanes, changes one after
/// another.
///
/// It moves no data: pages go to the copy workers, and a write comes back to be committed once its
/// pages are in place. Shard 0 of an SSD also executes its admin commands.
class shard_engine {
 public:
  GNSTOR_HD shard_engine(const node& n, std::uint32_t ssd, std::uint32_t shard)
      : node_(&n),
        ssd_(ssd),
        shard_(shard),
        drive_(n.ssds[ssd]),
        head_(n.inbox(ssd, shard).head()) {}

  /// One round. True if anything was done.
  /// @par Callers every lane of `g`, converged; always the same owner, with the same engine in
  /// every lane
  GNSTOR_HD_INLINE bool tick(const simt::group& g) {
#if !defined(__CUDA_ARCH__)
    // A lone lane goes through its batch one by one: it asks memory for all of it before.
    if (g.size() == 1) {
      const std::uint32_t ready = ask_ahead();
      for (std::uint32_t k = 1; k < ready; ++k) (void)serve(g);
    }
#endif
    return serve(g);
  }

  /// What is done besides. While blocks or pages are few, however busy the owner is: garbage is
  /// collected and a deleted volume's pages are swept, a few blocks at a time. Where there is
  /// nothing else to do blocks are freed whose readers are gone, and now and then pages are swept.
  /// @param round of the owner
  /// @param quiet rounds without work
  /// @par Callers as `tick`
  /// @par Result true while garbage is collected or pages are swept that somebody may wait for
  GNSTOR_HD_INLINE bool tend(const simt::group& g, std::uint32_t round, std::uint32_t quiet) {
    const bool idle = quiet % 64 == 63;
    std::uint32_t asked = 0;
    if (idle || round % 256 == 0) {
      if (g.leads()) {
        asked = drive_.scarce() ? 1 : 0;
        if (asked != 0 || (idle && quiet % 1024 == 1023)) {
          const bool more = drive_.tend(shard_, 4);
          asked |= asked != 0 && more ? 2 : 0;
        } else if (idle) {
          drive_.reap(shard_);
        }
        ask_for_room();
      }
      asked = g.broadcast(asked);
      g.sync();
    }
    collect(g, asked != 0);
    return collecting_ || (asked & 2) != 0;
  }

 private:
  static constexpr std::uint32_t pages_a_round = 8;  ///< that garbage collection looks at
  static constexpr std::uint64_t most_wait_ns = 2'000'000'000;  ///< of a write for pages
  /// The same where these may come back with a Flush to a disk.
  static constexpr std::uint64_t most_wait_for_disk_ns = 30'000'000'000;

  /// Where a command goes from here.
  enum class next : std::uint8_t {
    nothing,
    copy,   ///< its pages to the copy workers
    again,  ///< to this shard's inbox: pages will come back
    rare,   ///< to the end of this round
    done,
  };

#if !defined(__CUDA_ARCH__)
  /// Asks memory for what the commands at the head of the inbox will touch.
  /// @par Result how many there are, 32 at most; 0 where a single one would only wait twice
  std::uint32_t ask_ahead() const {
    constexpr std::uint32_t most = 32;
    const handle_ring inbox = node_->inbox(ssd_, shard_);
    const io_command* command[most];
    std::uint32_t ready = 0;
    for (std::uint32_t handle = 0; ready < most && inbox.peek(head_ + ready, handle); ++ready)
      command[ready] = node_->commands + handle;
    if (ready < 2 && (ready == 0 || command[0]->where.blocks < 2)) return 0;
    for (std::uint32_t k = 0; k < ready; ++k) {
      if (command[k]->admin == 0) drive_.prefetch_mapping(command[k]->where);
    }
    for (std::uint32_t k = 0; k < ready; ++k) {
      if (command[k]->admin == 0) drive_.prefetch_pages(command[k]->where);
    }
    return ready;
  }
#endif

  /// Serves as many commands of the inbox as there are lanes. True if there was one.
  GNSTOR_HD_INLINE bool serve(const simt::group& g) {
    const handle_ring inbox = node_->inbox(ssd_, shard_);
    std::uint32_t handle = 0;
    const bool there = inbox.peek(head_ + g.thread_rank(), handle);
    const std::uint32_t ready = g.leading(there);
    if (ready == 0) return false;
    const bool mine = g.thread_rank() < ready;
    // What the changes need is asked for before the first of them, and answered after the last.
    command_head c{};
    if (mine) c = node_->commands[handle];
    const bool reads = mine && is_io(c, wire::nvme::nvm_opcode::read);
    next then = next::nothing;
    if (reads) {
      drive_.lookup(c.where, node_->pages(handle));
      then = next::copy;
    }
    g.sync();
    bool full = false;  // one try per round: to ask an empty pool costs a look at all of it
    bool few = false;
    for (std::uint32_t k = 0; k < ready; ++k) {
      if (g.thread_rank() == k && !reads) then = change(c, node_->pages(handle), full, few);
      full = g.any(full);
      g.sync();  // the next lane goes on from what this one left
    }
    g.sync();
    hand_on(g, then, c, handle);
    const bool left = then == next::rare;
    if (g.any(left)) serve_rare(*node_, ssd_, shard_, g, left, handle);
    head_ += ready;
    if (g.leads()) inbox.advance(head_);
    g.sync();
    collect(g, full || g.any(few));
    return true;
  }

  /// True for what is neither a read nor a write, and for the end of a write that needs thought.
  GNSTOR_HD bool is_rare(const command_head& c) const {
    if (c.stage == command_stage::commit)
      return !is_io(c, wire::nvme::nvm_opcode::write) || !drive_.commits_simply(c.where);
    return c.admin != 0 || is_io(c, wire::nvme::nvm_opcode::write_zeroes) || is_regions(c) ||
           is_forget(c);
  }
  GNSTOR_HD static bool is_regions(const command_head& c) {
    return c.admin == 0 &&
           c.entry.opcode == static_cast<std::uint8_t>(wire::afa::io_opcode::dirty_regions);
  }
  GNSTOR_HD static bool is_forget(const command_head& c) {
    return c.admin == 0 &&
           c.entry.opcode == static_cast<std::uint8_t>(wire::afa::io_opcode::forget);
  }
  GNSTOR_HD static bool is_lba_status(const command_head& c) {
    return c.admin != 0 && wire::nvme::is_get_lba_status(c.entry);
  }
  GNSTOR_HD static bool is_io(const command_head& c, wire::nvme::nvm_opcode op) {
    return c.admin == 0 && c.entry.opcode == static_cast<std::uint8_t>(op);
  }

  /// Moves a few pages if blocks are few, as `asked` or found the last time.
  GNSTOR_HD void collect(const simt::group& g, bool asked) {
    if (!asked && !collecting_) return;
    collecting_ = drive_.collect(g, shard_, pages_a_round);
    if (g.leads()) ask_for_room();
  }
  /// Where blocks wait for a Flush, and few are free: has one made. On CPUs alone.
  GNSTOR_HD void ask_for_room() const {
#if !defined(__CUDA_ARCH__)
    if (node_->medium == nullptr) return;
    const device_word<std::uint32_t> wanted(drive_.parts().header().flushes.wanted);
    if (wanted.load(relaxed) != 0 && wanted.exchange(0, relaxed) != 0)
      node_->medium->make_room(ssd_);
#endif
  }

  /// True if a command that cannot go on now may be tried again.
  GNSTOR_HD static bool may_wait([[maybe_unused]] const node& n, command_head& c) {
    const auto now = static_cast<std::uint32_t>(simt::now_ns() >> 16) | 1;
    if (c.waits == 0) c.waits = now;
#if !defined(__CUDA_ARCH__)
    if (n.medium != nullptr) return now - c.waits < (most_wait_for_disk_ns >> 16);
#endif
    return now - c.waits < (most_wait_ns >> 16);
  }

  /// @param full a command before this one found no pages; set if this one found none
  /// @param few set if few blocks are free
  GNSTOR_HD_INLINE next change(command_head& c, std::uint32_t* pages, bool& full, bool& few) const {
    if (is_rare(c)) return next::rare;
    if (c.stage == command_stage::commit) {
      c.status = drive_.commit_simply(c.where, pages);
    } else {
      c.status = full ? wire::nvme::make_status(wire::nvme::generic_status::capacity_exceeded)
                      : drive_.allocate(c.where, pages, few);
      if (c.status == 0) return next::copy;
      full = true;
      // Volumes hold less than there is, so that blocks come back; but nobody waits for ever.
      if (may_wait(*node_, c)) return next::again;
    }
    return next::done;
  }

  /// Writes down what became of the commands and gives them to whoever is next, of all lanes at
  /// once.
  GNSTOR_HD void hand_on(const simt::group& g, next then, const command_head& c,
                         std::uint32_t handle) const {
    const std::uint32_t copies = then == next::copy ? c.where.blocks : 0;
    if (then == next::copy || then == next::done) {
      io_command& slot = node_->commands[handle];
      slot.status = c.status;
      slot.stage = then == next::copy ? command_stage::copy : command_stage::done;
      slot.remaining = copies;
    }
    if (then == next::again) node_->commands[handle].waits = c.waits;
    // A sender takes a read as a whole.
    const bool whole = node_->sends() && is_io(c, wire::nvme::nvm_opcode::read);
    node_->push_copies(g, c.queue, whole ? copies != 0 : copies, handle * node_->transfer_blocks());
    if (then == next::done) node_->finish(c.queue, ssd_, handle);
    if (then == next::again) node_->inbox(ssd_, shard_).push(handle);
  }

  /// Serves what is rare, one after another, away from the reads and writes: it loads what it needs
  /// itself.
  /// @param mine this lane has such a command, of that handle
  GNSTOR_HD_SLOW static void serve_rare(const node& n, std::uint32_t ssd, std::uint32_t shard,
                                        const simt::group g, bool mine, std::uint32_t handle) {
    for (std::uint32_t k = 0; k < g.size(); ++k) {
      if (g.thread_rank() == k && mine) {
        io_command& c = n.commands[handle];
        bool again = false;
        std::uint32_t next = shard;
        c.status = serve_rare(n, ssd, shard, handle, again);
        if (is_regions(c) && again) next = c.where.shard;
        if (is_lba_status(c) && again) next = shard + 1;
        if (again && (next != shard || may_wait(n, c))) {
          n.inbox(ssd, next).push(handle);
        } else {
          if (again && c.stage == command_stage::commit)
            n.ssds[ssd].abandon(c.where, n.pages(handle));
          c.stage = command_stage::done;
          if (c.admin != 0 || is_regions(c)) {
            n.done_ring(c.queue).push(handle);
          } else {
            n.finish(c.queue, ssd, handle);
          }
        }
      }
      g.sync();  // and so does the next one here
    }
  }
  /// @param again set if nothing was done, or not all, for want of pages, or as it is the next
  /// shard's turn
  GNSTOR_HD static std::uint16_t serve_rare(const node& n, std::uint32_t ssd, std::uint32_t shard,
                                            std::uint32_t handle, bool& again) {
    io_command& c = n.commands[handle];
    std::uint32_t* const pages = n.pages(handle);
    const node::ssd& drive = n.ssds[ssd];
    const write_claim by{c.client, c.entry.cdw2};
    if (is_lba_status(c)) return lba_status::visit(drive, shard, c, again);
    if (c.admin != 0) return admin_commands(n, ssd).execute(c);
    if (is_regions(c)) {
      auto& out = *reinterpret_cast<wire::afa::dirty_regions*>(c.entry.dptr.address);
      again = !drive.dirty_regions(c.where, out,
                                   (c.entry.cdw13 & wire::afa::dirty_regions_since_taken) != 0);
      return 0;
    }
    if (c.stage == command_stage::commit) {
      if (!is_io(c, wire::nvme::nvm_opcode::write)) {
        const bool unreadable = (c.entry.cdw13 & wire::afa::fill_unreadable) != 0;
        return drive.commit_fill(c.where, by, pages, unreadable);
      }
      const std::uint16_t status = drive.commit(c.where, by, pages, again);
      return again ? wire::nvme::make_status(wire::nvme::generic_status::capacity_exceeded)
                   : status;
    }
    if (!is_forget(c) && (drive.is_filling() || drive.is_doubtful(c.where)))
      return zero(drive, c.where, by, again);
    return drive.deallocate(c.where, by, is_forget(c));  // blocks never written read as zeroes
  }
  /// Writes zeroes: a block that an SSD under filling did not have would be given its old contents,
  /// and one that a doubtful shard did not have would stay a media error.
  GNSTOR_HD static std::uint16_t zero(const node::ssd& drive, const admission& where,
                                      const write_claim& by, bool& again) {
    for (std::uint32_t k = 0; k < where.blocks; ++k) {
      admission one = where;
      one.first = vba(where.first.value + k);
      one.blocks = 1;
      std::uint32_t page = 0;
      bool few = false;
      std::uint16_t status = drive.allocate(one, &page, few);
      again = status != 0;
      if (again) return status;
      memset(drive.page(page), 0, block_bytes);
      drive.seal(page, gnstor::detail::page_crc_alone(drive.page(page)));
      status = drive.commit(one, by, &page, again);
      if (again) drive.abandon(one, &page);
      if (again) return wire::nvme::make_status(wire::nvme::generic_status::capacity_exceeded);
      if (status != 0) return status;
    }
    return 0;
  }
  const node* node_;
  std::uint32_t ssd_;
  std::uint32_t shard_;
  node::ssd drive_;     ///< a copy: memory would be asked again after every ordered load
  std::uint64_t head_;  ///< of the inbox
  bool collecting_ = false;
};

}  // namespace gnstor::fw

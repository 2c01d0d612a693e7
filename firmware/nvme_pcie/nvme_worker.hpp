#pragma once

#include <gnstor/simt/release_stores.hpp>

#include <nvme_pcie/dataset_ranges.hpp>
#include <nvme_pcie/nvme_entries.hpp>
#include <nvme_pcie/nvme_job.hpp>
#include <nvme_pcie/prp_transfer.hpp>

namespace gnstor::fw {

/// One of the warps (or CPU threads) that serve an I/O queue: fetches commands, moves their data,
/// answers them. It ends what it has begun before it looks for more.
///
/// Several share a queue: one fetches at a time, a share of what is there, so that a lone command
/// is never handed over. NVMe Base 2.3, 3.3 and 4.
class nvme_worker {
 public:
  GNSTOR_HD nvme_worker(const nvme_node& node, std::uint32_t role)
      : node_(&node),
        queue_(&node.queues[role / node.shape.workers]),
        workers_(node.shape.workers) {}

  /// One round. True if anything was done.
  /// @par Callers every lane of `g`, converged, with the same worker in every lane
  /// @par Order data, then its answer
  GNSTOR_HD bool tick(const simt::group& g) {
    if (!serves_ && !begins(g)) return false;
    std::uint32_t count = 0;
    std::uint64_t first = 0;
    if (g.leads()) count = claim(g.size(), first);
    count = g.broadcast(count);
    if (count == 0) return false;
    if (count == leaves) {
      serves_ = false;
      return true;
    }
    first = g.broadcast(first);
    g.sync();  // the leader's acquire of the doorbell reaches the lanes that read entries
    wire::nvme::submission_entry command{};
    const bool has = g.thread_rank() < count;
    const bool reached =
        !has || nvme_entries(*node_, *queue_).fetch(first + g.thread_rank(), command);
    const bool all = g.all(reached);
    g.sync();
    // Paired with the exchange of who fetches next.
    if (g.leads()) fetched().store((first + count) * 2, release);
    if (all) execute(g, count, first, command);
    if (g.leads()) {
      if (!all) {
        add_to(queue_->faults, 1);
        add_to(queue_->unanswered, count);
      }
      device_word<std::uint64_t>(queue_->ended).fetch_add(count, release);
    }
    g.sync();
    return true;
  }

 private:
  static constexpr std::uint32_t leaves = ~0u;
  using status_field = std::uint16_t;
  using job = nvme_job;

  GNSTOR_HD device_word<std::uint64_t> fetched() const {
    return device_word<std::uint64_t>(queue_->fetched);
  }
  GNSTOR_HD system_word<std::uint32_t> life() const {
    return system_word<std::uint32_t>(queue_->life);
  }

  /// A round while the queue is not served: looks whether it is now. Answers who wants it drained.
  GNSTOR_HD bool begins(const simt::group& g) {
    std::uint32_t now = 0;
    if (g.leads()) now = life().load(acquire);
    now = g.broadcast(now);
    g.sync();
    serves_ = now == static_cast<std::uint32_t>(nvme_queue_life::serving);
    if (now == static_cast<std::uint32_t>(nvme_queue_life::draining) && g.leads()) end_draining();
    return serves_;
  }
  /// Says that nothing of the queue is under way, if that is so. The lock bit keeps others from
  /// beginning meanwhile.
  GNSTOR_HD void end_draining() const {
    std::uint64_t word = fetched().load(relaxed);
    if ((word & 1) != 0 || !fetched().compare_exchange(word, word | 1, acq_rel)) return;
    // Paired with the release of who has ended the last one.
    const std::uint64_t ended = device_word<std::uint64_t>(queue_->ended).load(acquire);
    // Paired with the acquire load of the controller, which changes nothing before it has seen it.
    if (ended == word / 2)
      life().store(static_cast<std::uint32_t>(nvme_queue_life::drained), release);
    fetched().store(word, release);
  }

  /// Takes the lock if there are commands for this worker: how many, from `first` on. With the lock
  /// held: `fetch` and then `fetched` follow. Others wait for all that is loaded here in turn, so
  /// what needs no order is asked for at once.
  /// @par Callers the leader
  GNSTOR_HD std::uint32_t claim(std::uint32_t most, std::uint64_t& first) {
    std::uint64_t word = fetched().load(relaxed);
    // A look: who holds the lock looks again, as this may be of another life of the queue.
    const std::uint32_t seen = tail().load(relaxed);
    if (waiting(word, seen) == 0 || (word & 1) != 0)
      return ++quiet_ % 16 == 0 && !is_served() ? leaves : 0;
    if (!fetched().compare_exchange(word, word | 1, acq_rel)) return 0;
    std::uint32_t count = leaves;
    first = word / 2;
    const std::uint64_t silent = device_word<std::uint64_t>(queue_->unanswered).load(relaxed);
    if (is_served()) {
      // Paired with the release of who rang.
      count = share(waiting(word, tail().load(acquire)), most);
      const std::uint32_t room = answer_room(first - silent);
      if (count > room) count = room;
    }
    if (count == 0 || count == leaves) fetched().store(word, release);
    return count;
  }
  GNSTOR_HD system_word<std::uint32_t> tail() const {
    return system_word<std::uint32_t>(*queue_->tail);
  }
  /// Commands behind those fetched that a doorbell of `tail` announces.
  GNSTOR_HD std::uint32_t waiting(std::uint64_t word, std::uint32_t tail) {
    const std::uint32_t mask = queue_->submission_entries - 1;
    if (tail <= mask) return static_cast<std::uint32_t>((tail - word / 2) & mask);
    if (tail != bad_tail_) add_to(queue_->bad_doorbells, 1);
    bad_tail_ = tail;
    return 0;
  }
  GNSTOR_HD bool is_served() const {
    return life().load(relaxed) == static_cast<std::uint32_t>(nvme_queue_life::serving);
  }
  /// Of `waiting` commands, those for this worker.
  GNSTOR_HD std::uint32_t share(std::uint32_t waiting, std::uint32_t most) const {
    const std::uint32_t even = (waiting + workers_ - 1) / workers_;
    return even < most ? even : most;
  }
  /// How many more commands the completion queue has room for, when `begun` get answers.
  GNSTOR_HD std::uint32_t answer_room(std::uint64_t begun) const {
    const std::uint32_t mask = queue_->completion_entries - 1;
    // Paired with the release of who has read the entries before it.
    const std::uint32_t head = system_word<std::uint32_t>(*queue_->head).load(acquire);
    return mask - static_cast<std::uint32_t>((begun - head) & mask);
  }

  GNSTOR_HD void execute(const simt::group& g, std::uint32_t count, std::uint64_t first,
                         const wire::nvme::submission_entry& command) {
    const bool has = g.thread_rank() < count;
    job mine;
    if (has) mine = check_command(*node_, *queue_, command);
    if (!move_together(g, count, command, mine))
      for (std::uint32_t k = 0; k < count; ++k) carry_out(g, k, command, mine);
    g.sync();
    const bool answers = has && !mine.swallowed;
    const std::uint32_t answering = g.ballot(answers);
    const auto answered = static_cast<std::uint32_t>(cuda::std::popcount(answering));
    std::uint64_t entry = 0;
    if (g.leads()) {
      entry = device_word<std::uint64_t>(queue_->answering).fetch_add(answered, relaxed);
      if (answered != count) add_to(queue_->unanswered, count - answered);
    }
    entry = g.broadcast(entry);
    const std::uint32_t before = answering & ((1u << g.thread_rank()) - 1);
    if (answers) {
      nvme_entries(*node_, *queue_)
          .answer(entry + static_cast<std::uint64_t>(cuda::std::popcount(before)), first + count,
                  command.command_id, mine.status);
    }
  }

  /// Moves the data of all commands at once, where each is one piece of memory and all are as long:
  /// what waits for memory, waits once. False if nothing was done.
  GNSTOR_HD bool move_together(const simt::group& g, std::uint32_t count,
                               const wire::nvme::submission_entry& command, const job& mine) const {
    using wire::nvme::nvm_opcode;
    const std::uint32_t bytes = g.broadcast(mine.bytes);
    const bool reads = command.opcode == static_cast<std::uint8_t>(nvm_opcode::read);
    unsigned char* host = nullptr;
    if (g.thread_rank() < count && mine.status == 0 && !mine.swallowed && mine.blocks != nullptr &&
        mine.bytes == bytes && (reads || writes_back(command))) {
      const std::uint64_t address = wire::nvme::prp_of(command).prp1;
      if (bytes <= wire::nvme::bytes_to_page_end(address)) host = node_->find(address, bytes);
    }
    const auto ends =
        reinterpret_cast<std::uint64_t>(host) | reinterpret_cast<std::uint64_t>(mine.blocks);
    const bool fits = host != nullptr && ends % 16 == 0;
    if (count < 2 || bytes == 0 || bytes % together_bytes != 0) return false;
    if (!g.all(fits || g.thread_rank() >= count)) return false;
    deliver_together(g, count, reads ? host : mine.blocks, reads ? mine.blocks : host, bytes);
    const std::uint32_t read = g.ballot(reads && g.thread_rank() < count);
    if (!g.leads()) return true;
    const auto n = static_cast<std::uint32_t>(cuda::std::popcount(read));
    if (n != 0) this->count(true, n, bytes);
    if (n != count) this->count(false, count - n, bytes);
    return true;
  }
  /// A write that need not be on the medium when it is answered.
  GNSTOR_HD static bool writes_back(const wire::nvme::submission_entry& command) {
    return command.opcode == static_cast<std::uint8_t>(wire::nvme::nvm_opcode::write) &&
           (command.cdw12 & wire::nvme::force_unit_access) == 0;
  }

  /// Does what the command of lane `k` asks for.
  GNSTOR_HD void carry_out(const simt::group& g, std::uint32_t k,
                           const wire::nvme::submission_entry& command, job& mine) {
    const int from = static_cast<int>(k);
    using wire::nvme::nvm_opcode;
    const auto op = static_cast<nvm_opcode>(g.shfl(
        std::uint32_t{command.opcode} | (mine.status != 0 || mine.swallowed ? 0x100u : 0u), from));
    status_field outcome = 0;
    auto* const blocks = reinterpret_cast<unsigned char*>(
        g.shfl(reinterpret_cast<std::uint64_t>(mine.blocks), from));
    const std::uint32_t bytes = g.shfl(mine.bytes, from);
    const wire::nvme::prp_pair raw = wire::nvme::prp_of(command);
    const wire::nvme::prp_pair data{g.shfl(raw.prp1, from), g.shfl(raw.prp2, from)};
    const std::uint32_t nsid = g.shfl(command.nsid, from);
    switch (static_cast<std::uint32_t>(op)) {
      case static_cast<std::uint32_t>(nvm_opcode::read):
      case static_cast<std::uint32_t>(nvm_opcode::write): {
        const bool reads = op == nvm_opcode::read;
        outcome = prp_transfer(*node_, reads).move(g, data, blocks, bytes);
        if (g.leads()) count(reads, 1, bytes);
        if (!reads && outcome == 0 && (g.shfl(command.cdw12, from) & wire::nvme::force_unit_access))
          outcome = settle(g, nsid);
        break;
      }
      case static_cast<std::uint32_t>(nvm_opcode::write_zeroes): clear(g, blocks, bytes); break;
      case static_cast<std::uint32_t>(nvm_opcode::dataset_management):
        outcome =
            deallocate(g, nsid, g.shfl(command.cdw10, from), g.shfl(command.cdw11, from), data);
        break;
      case static_cast<std::uint32_t>(nvm_opcode::flush): outcome = settle(g, nsid); break;
      default: return;
    }
    if (outcome == 0) return;
    if (g.leads() &&
        wire::nvme::status_code(outcome) ==
            static_cast<std::uint8_t>(wire::nvme::generic_status::data_transfer_error)) {
      add_to(queue_->faults, 1);
    }
    if (g.thread_rank() == k) mine.status = outcome;
  }
  GNSTOR_HD void count(bool reads, std::uint32_t commands, std::uint32_t bytes) const {
    add_to(reads ? queue_->reads : queue_->writes, commands);
    add_to(reads ? queue_->bytes_read : queue_->bytes_written, std::uint64_t{commands} * bytes);
  }

  /// Makes what was written outlive a power cut of the host, where that takes more than memory.
  GNSTOR_HD status_field settle([[maybe_unused]] const simt::group& g,
                                [[maybe_unused]] std::uint32_t nsid) const {
    std::uint32_t lost = 0;
#if !defined(__CUDA_ARCH__)
    g.sync();
    if (g.leads() && node_->store != nullptr) lost = !node_->store->flush(nsid);
    lost = g.broadcast(lost);
#endif
    return lost == 0 ? status_field{0}
                     : wire::nvme::make_status(wire::nvme::media_status::write_fault);
  }

  GNSTOR_HD static void clear(const simt::group& g, unsigned char* blocks, std::uint32_t bytes) {
    for (std::uint32_t at = 16 * g.thread_rank(); at < bytes; at += 16 * g.size())
      simt::store16(blocks + at, simt::word16{});
  }

  /// Dataset Management: deallocated blocks read as zeroes.
  GNSTOR_HD status_field deallocate(const simt::group& g, std::uint32_t nsid, std::uint32_t cdw10,
                                    std::uint32_t cdw11, wire::nvme::prp_pair data) const {
    if ((cdw11 & 1u << 2) == 0) return 0;  // hints
    const nvme_namespace& n = node_->namespaces[nsid - 1];
    const std::uint32_t ranges = (cdw10 & 0xff) + 1;
    if (data.prp1 % 4 != 0)
      return wire::nvme::make_status(wire::nvme::generic_status::invalid_prp_offset, true);
    for (std::uint32_t k = 0; k < ranges; ++k) {
      wire::nvme::dataset_range range{};
      if (!read_range(*node_, data, k, range))
        return wire::nvme::make_status(wire::nvme::generic_status::data_transfer_error, true);
      if (range.slba > n.blocks || range.blocks > n.blocks - range.slba)
        return wire::nvme::make_status(wire::nvme::generic_status::lba_out_of_range, true);
      for (std::uint32_t block = 0; block < range.blocks; ++block)
        clear(g, n.data + ((range.slba + block) << n.block_shift), 1u << n.block_shift);
    }
    return 0;
  }

  const nvme_node* node_;
  nvme_queue* queue_;
  std::uint32_t workers_;
  std::uint32_t quiet_ = 0;     ///< the leader's
  std::uint32_t bad_tail_ = 0;  ///< the leader's: counted already
  bool serves_ = false;
};

}  // namespace gnstor::fw

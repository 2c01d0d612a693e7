#pragma once

#include <gnstor/simt/group.hpp>
#include <gnstor/simt/release_stores.hpp>

namespace gnstor::fw {

/// A queue of 32-bit handles from any number of producers. Each cell is one word: turn << 32 |
/// handle.
///
/// A push never fails and never waits: the ring has a cell for every handle that can be in it at a
/// time (each command is in at most one ring), so that back-pressure cannot deadlock the firmware.
/// One consumer peeks and advances; or several consumers take tickets (`take_ticket`) and each
/// watches its own cell.
class handle_ring {
 public:
  struct ends {
    alignas(128) std::uint64_t tail;
    alignas(128) std::uint64_t head;
  };

  /// @param cells a power of two of zeroed words
  GNSTOR_HD handle_ring(ends* e, std::uint64_t* cells, std::uint32_t cell_count)
      : ends_(e), cells_(cells), mask_(cell_count - 1) {}

  /// @par Order releases what the producer wrote to whoever peeks the handle
  GNSTOR_HD void push(std::uint32_t handle) const {
    const std::uint64_t at = device_word<std::uint64_t>(ends_->tail).fetch_add(1, relaxed);
    // Paired with the acquire load in `peek`; its fence and the tail's answer are waited for at
    // once.
    const simt::release_stores<thread_scope_device> cell;
    cell.store(cells_[at & mask_], (at + 1) << 32 | handle);
  }

  /// The same for all lanes of `g`: `count` handles of each, from `first` on, with one step of the
  /// tail.
  /// @par Callers every lane of `g`, converged
  GNSTOR_HD void push(const simt::group& g, std::uint32_t count, std::uint32_t first) const {
    if (!g.any(count != 0)) return;
    const std::uint32_t rank = g.thread_rank();
    std::uint32_t end = count;  // of this lane's handles among all
    std::uint32_t total = 0;
    if (!g.any(count > 1)) {
      const std::uint32_t mine = g.ballot(count != 0);
      end = static_cast<std::uint32_t>(cuda::std::popcount(mine & ((2u << rank) - 1)));
      total = static_cast<std::uint32_t>(cuda::std::popcount(mine));
    } else {
      for (std::uint32_t step = 1; step < g.size(); step *= 2) {
        const std::uint32_t below =
            g.shfl(end, static_cast<int>(rank >= step ? rank - step : rank));
        if (rank >= step) end += below;
      }
      total = g.shfl(end, static_cast<int>(g.size() - 1));
    }
    std::uint64_t base = 0;
    if (g.leads()) base = device_word<std::uint64_t>(ends_->tail).fetch_add(total, relaxed);
    // Paired with the acquire in `peek`; its fence and the tail's answer are waited for at once.
    const simt::release_stores<thread_scope_device> cells;
    base = g.broadcast(base);
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint64_t at = base + (end - count) + k;
      cells.store(cells_[at & mask_], (at + 1) << 32 | (first + k));
    }
  }

  /// True if the handle at position `at` is there.
  GNSTOR_HD bool peek(std::uint64_t at, std::uint32_t& handle) const {
    const std::uint64_t cell = device_word<std::uint64_t>(cells_[at & mask_]).load(acquire);
    handle = static_cast<std::uint32_t>(cell);
    return cell >> 32 == ((at + 1) & 0xffffffffu);
  }

  /// `peek` without an order: whether it is worth one.
  GNSTOR_HD bool seems_there(std::uint64_t at) const {
    const std::uint64_t cell = device_word<std::uint64_t>(cells_[at & mask_]).load(relaxed);
    return cell >> 32 == ((at + 1) & 0xffffffffu);
  }

  /// The single consumer's position; only the consumer reads or writes it.
  GNSTOR_HD std::uint64_t head() const { return ends_->head; }
  GNSTOR_HD void advance(std::uint64_t to) const { ends_->head = to; }

  /// The next position nobody watches yet, for rings with several consumers.
  GNSTOR_HD std::uint64_t take_ticket() const {
    return device_word<std::uint64_t>(ends_->head).fetch_add(1, relaxed);
  }

 private:
  ends* ends_;
  std::uint64_t* cells_;
  std::uint64_t mask_;
};

}  // namespace gnstor::fw

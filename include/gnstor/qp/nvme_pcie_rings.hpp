#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/qp/completion.hpp>
#include <gnstor/qp/dma_region.hpp>
#include <gnstor/qp/nvme_pcie_doorbells.hpp>
#include <gnstor/qp/nvme_pcie_queue_memory.hpp>
#include <gnstor/qp/nvme_pcie_restart.hpp>
#include <gnstor/simt/copy.hpp>
#include <gnstor/simt/mmio.hpp>
#include <gnstor/simt/release_stores.hpp>
#include <gnstor/wire/nvme/opcode.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <cuda/std/bit>

namespace gnstor::detail {

/// What an NVMe controller sees of a queue pair: submission entries with PRPs, completion entries
/// with phase tags, and two doorbells, each written or read where its index says. Who hands out the
/// indices is not its business.
///
/// Commands come with a keyed SGL, as over a network; the key says which region the buffer lies in,
/// and so which pages it has for the device.
template <thread_scope Scope>
class nvme_pcie_rings {
 public:
  /// As `nvme_pcie_queue_pair`.
  GNSTOR_HD nvme_pcie_rings(unsigned char* memory, std::uint32_t depth, std::uint32_t max_transfer,
                            nvme_pcie_doorbells doorbells, const dma_region* regions)
      : memory_(memory),
        tail_(doorbells.tail),
        regions_(regions),
        mask_(depth - 1),
        stride_words_(static_cast<std::uint16_t>(doorbells.stride_bytes / 4)),
        list_shift_(static_cast<std::uint8_t>(
            cuda::std::countr_zero(nvme_pcie_queue_layout::list_bytes(max_transfer)))),
        same_device_(doorbells.same_device) {}

  GNSTOR_HD unsigned char* memory() const { return memory_; }
  GNSTOR_HD std::uint32_t depth() const { return mask_ + 1; }
  /// Entries of each queue.
  GNSTOR_HD std::uint32_t entries() const { return nvme_pcie_queue_layout::entries(depth()); }
  /// Every completion takes an entry, which is given back when it was read.
  static constexpr bool every_completion = true;
  GNSTOR_HD static constexpr std::uint32_t receives_kept(std::uint32_t depth) {
    return nvme_pcie_queue_layout::entries_kept(depth);
  }
  GNSTOR_HD nvme_pcie_restart<Scope> restarting() const { return {memory_, depth()}; }
  GNSTOR_HD nvme_pcie_queue_state& state() const {
    return *reinterpret_cast<nvme_pcie_queue_state*>(memory_);
  }
  GNSTOR_HD std::uint64_t& reservation(std::uint64_t index) const {
    return reinterpret_cast<std::uint64_t*>(memory_ + layout().reservations)[index & mask_];
  }

  /// Writes submission entry `index` for a command with a keyed SGL.
  ///
  /// A buffer that no region holds, or more than a list has room for, is not named to the device:
  /// the command goes out to no namespace, whose refusal reaches the caller.
  /// @par Callers the lane that owns the reserved `index`. The command's id, modulo the depth, is
  /// nobody else's until it was answered: its PRP list is found by it
  GNSTOR_HD void write_send(std::uint64_t index, wire::nvme::submission_entry command) const {
    const wire::nvme::keyed_sgl data = command.dptr;
    wire::nvme::prp_pair pages;
    if (data.length() != 0 && !find_pages(data, command.command_id, pages)) {
      command.opcode = static_cast<std::uint8_t>(wire::nvme::nvm_opcode::flush);
      command.nsid = 0;
    }
    wire::nvme::set_prp(command, pages);
    store(index, command);
  }

  /// Writes submission entry `index` as a NOP: a Flush of no namespace, which a controller refuses
  /// and nobody waits for. Its entry is free when a later command was answered.
  GNSTOR_HD void write_nop(std::uint64_t index) const {
    wire::nvme::submission_entry command{};
    command.command_id = nop_id;
    store(index, command);
  }

  /// What the doorbells said last.
  struct rung_indices {
    std::uint64_t announced = 0;
    std::uint64_t given = 0;
  };
  /// @par Callers who may announce
  GNSTOR_HD rung_indices last_rung() const {
    return {device_word<std::uint64_t>(state().announced).load(relaxed),
            device_word<std::uint64_t>(state().given).load(relaxed)};
  }
  /// Tells the controller of all entries before `index`, and gives back the first `read`
  /// completions. A doorbell that says nothing new is not written: that would be an error.
  /// @param last what `last_rung` gave, since this lane may announce
  /// @par Callers one lane at a time, never an index before the last one; those completions have
  /// been read
  /// @par Order entries before the doorbell; what was read before the other one
  GNSTOR_HD void announce(std::uint64_t index, std::uint64_t read, const rung_indices& last) const {
    const bool tells = last.announced != index;
    const bool gives = last.given != read;
    if (gives) device_word<std::uint64_t>(state().given).store(read, relaxed);
    if (tells) device_word<std::uint64_t>(state().announced).store(index, relaxed);
    write_doorbells(tells, index, gives, read);
  }
  GNSTOR_HD void announce(std::uint64_t index, std::uint64_t read) const {
    announce(index, read, last_rung());
  }
  /// Tells the controller of all entries before `index` alone.
  GNSTOR_HD void announce(std::uint64_t index) const {
    const rung_indices last = last_rung();
    announce(index, last.given, last);
  }
  GNSTOR_HD std::uint64_t announced(std::uint64_t) const {
    return device_word<std::uint64_t>(state().announced).load(relaxed);
  }
  /// Gives back the first `read` completions, and tells of nothing else.
  GNSTOR_HD void give_receives(std::uint64_t read) const {
    const rung_indices last = last_rung();
    announce(last.announced, read, last);
  }
  GNSTOR_HD std::uint64_t given(std::uint64_t) const {
    return device_word<std::uint64_t>(state().given).load(relaxed);
  }

  /// The last dword of completion entry `at`: command id, phase and status; the controller writes
  /// it last.
  /// @par Order acquires the entry, and the payload of what it answers
  GNSTOR_HD std::uint32_t tail(std::uint64_t at) const { return dword(at, 3).load(acquire); }
  /// True if a tail read at `at` is of this lap: the phase changes with each, and is 1 in the
  /// first.
  GNSTOR_HD bool is_valid(std::uint32_t tail, std::uint64_t at) const {
    const bool odd_lap = (at & entries()) != 0;
    return ((tail >> 16 & 1) != 0) != odd_lap;
  }
  /// What completion entry `at` says, if its `tail` is valid: a response, also to a NOP.
  GNSTOR_HD completion decode(std::uint64_t at, std::uint32_t tail) const {
    struct dwords {
      std::uint32_t value[4];
    };
    const dwords raw{{dword(at, 0).load(relaxed), dword(at, 1).load(relaxed),
                      dword(at, 2).load(relaxed), tail & ~0x10000u}};
    completion out;
    out.kind = completion_kind::response;
    out.response = cuda::std::bit_cast<wire::nvme::completion_entry>(raw);
    return out;
  }

  /// The id of the command last written at `index`.
  GNSTOR_HD command_id sent_id(std::uint64_t index) const {
    return command_id(reinterpret_cast<const wire::nvme::submission_entry*>(
                          memory_ + layout().submissions)[index & (entries() - 1)]
                          .command_id);
  }

 private:
  static constexpr std::uint16_t nop_id = 0xffff;

  GNSTOR_HD nvme_pcie_queue_layout layout() const {
    return nvme_pcie_queue_layout::of(
        depth(), (1u << list_shift_) / wire::nvme::prp_entry_bytes * wire::nvme::prp_page_bytes);
  }

  /// The pages of a buffer, in the list of command `id` if there are more than two. False if it is
  /// no buffer of a region, or a list has no room for them.
  GNSTOR_HD bool find_pages(const wire::nvme::keyed_sgl& data, std::uint16_t id,
                            wire::nvme::prp_pair& pages) const {
    const dma_region region = regions_[dma_region::index_of(data.key())];
    if (!region.opens(data.key(), data.address, data.length())) return false;
    pages.prp1 = region.translate(data.address);
    std::uint64_t at = data.address + wire::nvme::bytes_to_page_end(pages.prp1);
    const std::uint32_t more = wire::nvme::prp_entries(pages.prp1, data.length()) - 1;
    if (more == 0) return true;
    if (more == 1) {
      pages.prp2 = region.translate(at);
      return true;
    }
    if (more << 3 > 1u << list_shift_) return false;
    const std::uint64_t offset = std::uint64_t{id & mask_} << list_shift_;
    auto* list = reinterpret_cast<std::uint64_t*>(memory_ + layout().lists + offset);
    for (std::uint32_t k = 0; k < more; ++k, at += wire::nvme::prp_page_bytes)
      list[k] = region.translate(at);
    pages.prp2 = state().lists + offset;
    return true;
  }

  GNSTOR_HD void store(std::uint64_t index, const wire::nvme::submission_entry& command) const {
    struct parts {
      simt::word16 part[4];
    };
    const auto bytes = cuda::std::bit_cast<parts>(command);
    unsigned char* to = memory_ + layout().submissions +
                        (index & (entries() - 1)) * sizeof(wire::nvme::submission_entry);
    for (int k = 0; k < 4; ++k) simt::store16(to + 16 * k, bytes.part[k]);
  }

  /// @par Order entries, and reads of completions, before the doorbells
  GNSTOR_HD void write_doorbells(bool tells, std::uint64_t index, bool gives,
                                 std::uint64_t read) const {
    const auto tail = static_cast<std::uint32_t>(index & (entries() - 1));
    const auto head = static_cast<std::uint32_t>(read & (entries() - 1));
    if (same_device_) {
      // Paired with the acquire loads of the emulated controller, on the same device.
      const simt::release_stores<thread_scope_device> words;
      if (gives) words.store(tail_[stride_words_], head);
      if (tells) words.store(*tail_, tail);
    } else {
      if (gives) simt::mmio_store(tail_[stride_words_], head);
      if (tells) simt::mmio_store(*tail_, tail);
    }
  }

  GNSTOR_HD atomic_ref<std::uint32_t, Scope> dword(std::uint64_t at, std::uint32_t k) const {
    auto* ring = reinterpret_cast<std::uint32_t*>(memory_ + layout().completions);
    return atomic_ref<std::uint32_t, Scope>(ring[4 * (at & (entries() - 1)) + k]);
  }

  unsigned char* memory_;
  std::uint32_t* tail_;  ///< doorbell; the head's is one stride behind
  const dma_region* regions_;
  std::uint32_t mask_;
  std::uint16_t stride_words_;
  std::uint8_t list_shift_;
  bool same_device_;
};

}  // namespace gnstor::detail

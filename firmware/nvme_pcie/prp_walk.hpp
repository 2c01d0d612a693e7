#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/wire/nvme/prp.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <nvme_pcie/nvme_node.hpp>

namespace gnstor::fw {

/// Goes through the memory that the PRPs of one command name, and finds what is wrong with them.
/// NVMe Base 2.3, 4.1.1.
///
/// Pages that follow each other in the device's address space are one piece.
/// @tparam Take `take(g, memory, bytes)` is given each piece, in order
template <class Take>
class prp_walk {
 public:
  GNSTOR_HD prp_walk(const nvme_node& node, Take& take) : node_(&node), take_(&take) {}

  /// Hands over the pieces of `bytes` (1 on). Returns the NVMe status field.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Bound the pages
  /// @par Errors invalid_prp_offset, or data_transfer_error for an address that is not mapped; some
  /// pieces may have been handed over by then
  GNSTOR_HD std::uint16_t over(const simt::group& g, wire::nvme::prp_pair data,
                               std::uint32_t bytes) {
    left_ = bytes;
    if (!piece(g, data.prp1, wire::nvme::bytes_to_page_end(data.prp1))) return fault();
    if (left_ == 0) return 0;
    if (left_ > wire::nvme::prp_page_bytes) return lists(g, data.prp2);
    if (!is_page(data.prp2)) return offset();
    return piece(g, data.prp2, left_) ? 0 : fault();
  }

 private:
  GNSTOR_HD static std::uint16_t fault() {
    return wire::nvme::make_status(wire::nvme::generic_status::data_transfer_error, true);
  }
  GNSTOR_HD static std::uint16_t offset() {
    return wire::nvme::make_status(wire::nvme::generic_status::invalid_prp_offset, true);
  }
  GNSTOR_HD static bool is_page(std::uint64_t address) {
    return (address & (wire::nvme::prp_page_bytes - 1)) == 0;
  }

  /// Hands over up to `most` bytes at a DMA address.
  GNSTOR_HD bool piece(const simt::group& g, std::uint64_t address, std::uint32_t most) {
    const std::uint32_t n = most < left_ ? most : left_;
    unsigned char* const memory = node_->find(address, n);
    if (memory == nullptr) return false;
    (*take_)(g, memory, n);
    left_ -= n;
    return true;
  }

  /// Hands over what a list of pages names, and the lists that follow it.
  GNSTOR_HD std::uint16_t lists(const simt::group& g, std::uint64_t list) {
    if (list % wire::nvme::prp_entry_bytes != 0) return offset();
    for (bounded pages{left_ / wire::nvme::prp_page_bytes + 2}; pages && left_ != 0;) {
      const std::uint32_t wanted = wire::nvme::prp_entries(0, left_);
      const std::uint32_t room = wire::nvme::entries_to_page_end(list);
      const bool goes_on = wanted > room;
      const std::uint32_t count = goes_on ? room - 1 : wanted;
      const unsigned char* const there =
          node_->find(list, std::uint64_t{goes_on ? room : count} * wire::nvme::prp_entry_bytes);
      if (there == nullptr) return fault();
      const auto* entries = reinterpret_cast<const std::uint64_t*>(there);
      for (std::uint32_t at = 0; at < count; at += g.size()) {
        const std::uint32_t rest = count - at;
        const std::uint16_t wrong = some(g, entries + at, rest < g.size() ? rest : g.size());
        if (wrong != 0) return wrong;
      }
      if (!goes_on) continue;
      list = entries[count];
      if (!is_page(list)) return offset();
    }
    return left_ == 0 ? 0 : offset();
  }

  /// Hands over the pages of `count` entries, at most one per lane.
  GNSTOR_HD std::uint16_t some(const simt::group& g, const std::uint64_t* entries,
                               std::uint32_t count) {
    const bool has = g.thread_rank() < count;
    const std::uint64_t mine = has ? entries[g.thread_rank()] : 0;
    if (g.any(has && !is_page(mine))) return offset();
    for (std::uint32_t k = 0; k < count;) {
      const std::uint64_t first = g.shfl(mine, static_cast<int>(k));
      // Of the entries from `k` on, those that follow each other.
      const bool follows =
          g.thread_rank() < k ||
          (has && mine == first + std::uint64_t{g.thread_rank() - k} * wire::nvme::prp_page_bytes);
      const std::uint32_t run = g.leading(follows) - k;
      if (!piece(g, first, run * wire::nvme::prp_page_bytes)) return fault();
      k += run;
    }
    return 0;
  }

  const nvme_node* node_;
  Take* take_;
  std::uint32_t left_ = 0;
};

}  // namespace gnstor::fw

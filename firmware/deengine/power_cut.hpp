#pragma once

#include <deengine/metadata.hpp>

#include <cstring>
#include <vector>

namespace gnstor::fw {

/// What is in the write buffer when power goes, in the order in which it goes to flash, and what
/// the capacitor still has energy for.
struct power_budget {
  std::vector<std::uint32_t> buffered{};  ///< committed pages that are not in flash yet
  std::uint32_t pages = ~0u;              ///< that can still be programmed
};

/// Makes an SSD's memory what flash holds after its power has gone, and fills with 0xA5 what was in
/// DRAM: mapping, block states, free blocks, rankings, shards, and the marks of pages that had
/// ended.
///
/// What is left: header and volumes' records, live records, trim journals and erase counts, which
/// are small and go to flash before any page; and pages that were committed, with their OOB
/// entries. Of an SSD that was stopped in order (`checkpoint`) all is left. Of pages beyond the
/// energy the first is torn, the others were never written; so were those whose commit was under
/// way.
/// @param data of the SSD's pages
/// @par Callers the host, while no shard runs; then `recover`
/// @par Result false: acknowledged writes may be lost
inline bool power_cut(void* base, const geometry& g, char* data, const power_budget& budget = {}) {
  const metadata meta(base, g);
  if (meta.header().checkpoint != 0) return true;  // it was stopped before, and is all saved
  const layout at = layout::of(g);
  const auto wipe = [base](std::uint64_t from, std::uint64_t to) {
    std::memset(static_cast<char*>(base) + from, 0xA5, to - from);
  };
  const auto lose = [&](std::uint32_t page, bool torn) {
    char* bytes = data + std::uint64_t{page} * block_bytes;
    if (torn) {
      for (std::uint32_t k = 0; k < block_bytes; k += 7) bytes[k] ^= 0x5A;
      meta.oob()[page].check ^= 1;
    } else {
      std::memset(bytes, 0xFF, block_bytes);
      meta.oob()[page] = oob_entry{};
    }
  };
  for (std::uint32_t page = 0; page < g.pages; ++page) {
    oob_entry& e = meta.oob()[page];
    if (e.is_sealed()) {
      e.state = page_state::valid;
    } else {
      lose(page, false);
    }
  }
  for (std::size_t k = budget.pages; k < budget.buffered.size(); ++k)
    lose(budget.buffered[k], k == budget.pages);
  for (std::uint32_t block = 0; block < g.blocks(); ++block) {
    block_state& state = meta.blocks()[block];
    const std::uint32_t erases = state.erases;
    std::memset(static_cast<void*>(&state), 0xA5, sizeof state);
    state.erases = erases;
  }
  wipe(at.shards, at.volumes);
  wipe(at.pool, at.blocks);
  wipe(at.mapping, at.oob);
  return budget.buffered.size() <= budget.pages;
}

}  // namespace gnstor::fw

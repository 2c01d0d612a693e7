#pragma once

#include <deengine/flash_log.hpp>
#include <deengine/trim_entry.hpp>

namespace gnstor::fw {

/// The deallocations of one shard that recovery has to repeat (a view): a ring of entries in flash.
///
/// An overwritten page is known to have ended by the newer page; a deallocated one is not. Its
/// entry is needed until no block has a page of before that counts. So with each entry some blocks
/// are passed and their `live_record`s written: all of them before the ring comes round and
/// replaces it. Repeating one that is not needed changes nothing.
/// @par Callers the shard's owner, one lane
template <thread_scope Scope>
class trim_journal {
 public:
  /// @param cells `geometry::trim_cells` entries of flash
  GNSTOR_HD trim_journal(trim_entry* cells, std::uint32_t count, const flash_log<Scope>& flash,
                         shard_state& state, std::uint32_t shard)
      : cells_(cells), count_(count), flash_(flash), state_(&state), shard_(shard) {}

  /// Writes down that `blocks` blocks from `first` on are deallocated. Once it returns that
  /// survives a power cut; the caller ends their pages.
  GNSTOR_HD void add(std::uint32_t generation, vba first, std::uint32_t blocks) const {
    shard_state& s = *state_;
    pass_blocks((flash_.blocks() + count_ - 1) / count_);
    const std::uint32_t index = s.trims++ % count_;
    const std::uint64_t first_key = std::uint64_t{generation} << 32 | first.value;
    put(index, trim_entry::of(s.sequence++, first_key, blocks, index));
  }

 private:
  /// Replaces the entry in a cell. Who is stopped on the way leaves none there.
  GNSTOR_HD void put(std::uint32_t index, const trim_entry& e) const {
    std::uint64_t words[3];
    memcpy(words, &e, sizeof e);
    auto* cell = reinterpret_cast<std::uint64_t*>(cells_ + index);
    const write_through& flash = flash_.through();
    flash.order();  // the entry that it replaces is needed until then
    system_word<std::uint64_t>(cell[2]).store(0, relaxed);
    flash.order();
    system_word<std::uint64_t>(cell[0]).store(words[0], relaxed);
    system_word<std::uint64_t>(cell[1]).store(words[1], relaxed);
    flash.order();
    system_word<std::uint64_t>(cell[2]).store(words[2], relaxed);
    flash.order();  // before any page ends
  }
  GNSTOR_HD void pass_blocks(std::uint32_t blocks) const {
    std::uint32_t& at = state_->record_at;
    for (std::uint32_t k = 0; k < blocks; ++k) {
      flash_.write_down(shard_, at);
      if (++at == flash_.blocks()) at = 0;
    }
  }

  trim_entry* cells_;
  std::uint32_t count_;
  flash_log<Scope> flash_;
  shard_state* state_;
  std::uint32_t shard_;
};

}  // namespace gnstor::fw

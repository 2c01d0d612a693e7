#pragma once

#include <deengine/oob_entry.hpp>
#include <deengine/write_through.hpp>

namespace gnstor::fw {

/// What is written down of an erase block besides its pages' OOB areas: which pages were live at
/// some sequence of its shard (a view). Flash cannot mark a page that has ended; this tells, and
/// what came later the sequences of the pages and the `trim_journal` tell.
///
/// A page of that sequence or a later one counts whatever the record says, so that the record of an
/// erased block, sequence 0, knows nothing.
/// @par Callers the owner of the block's shard, one lane
class live_record {
 public:
  /// @param words `words_for(pages_per_block)` words of flash
  GNSTOR_HD live_record(std::uint64_t* words, std::uint32_t pages_per_block,
                        const write_through& through = {})
      : words_(words), pages_(pages_per_block), through_(through) {}

  GNSTOR_HD static constexpr std::uint32_t words_for(std::uint32_t pages_per_block) {
    return 1 + (pages_per_block + 63) / 64;
  }

  /// True if page `k` of the block, of the given sequence, was not known to have ended.
  GNSTOR_HD bool counts(std::uint32_t k, std::uint64_t sequence) const {
    return sequence >= words_[0] || (words_[1 + k / 64] >> k % 64 & 1) != 0;
  }
  /// Writes down the live pages. Pages only end, so that half of it is no less true than all.
  /// @param sequence of the shard's next commit
  /// @param oob of the block's first page
  GNSTOR_HD void write(std::uint64_t sequence, const oob_entry* oob) const {
    for (std::uint32_t first = 0; first < pages_; first += 64) {
      std::uint64_t live = 0;
      for (std::uint32_t k = first; k < pages_ && k < first + 64; ++k)
        live |= std::uint64_t{oob[k].state == page_state::valid ? 1u : 0u} << k % 64;
      words_[1 + first / 64] = live;
    }
    // A process killed here has pages that count by their sequence and are known to have ended.
    through_.order();
    words_[0] = sequence;
  }
  /// Forgets all. @par Callers also who erases the block, once that is done
  GNSTOR_HD void clear() const { words_[0] = 0; }

 private:
  std::uint64_t* words_;
  std::uint32_t pages_;
  write_through through_;
};

}  // namespace gnstor::fw

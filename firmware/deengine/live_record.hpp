#pragma once

#include <deengine/oob_entry.hpp>
#include <deengine/seal.hpp>
#include <deengine/write_through.hpp>

namespace gnstor::fw {

/// What is written down of an erase block besides its pages' OOB areas: which pages were live at
/// some sequence of its shard (a view). Flash cannot mark a page that has ended; this tells, and
/// what came later the sequences of the pages and the `trim_journal` tell.
///
/// There is room for two images, each a seal, the sequence and one bit per page: one is written
/// while the other counts, so that whoever is stopped on the way leaves the former, which is as
/// true. A page of the image's sequence or a later one counts whatever it says, so that where no
/// seal is set, as in an erased block, nothing is known. One that is set and does not match was
/// damaged.
/// @par Callers the owner of the block's shard, one lane
class live_record {
 public:
  /// @param words `words_for(pages_per_block)` words of flash
  /// @param block whose record it is: that of another does not match
  GNSTOR_HD live_record(std::uint64_t* words, std::uint32_t pages_per_block, std::uint32_t block,
                        const write_through& through = {})
      : words_(words), pages_(pages_per_block), block_(block), through_(through) {}

  GNSTOR_HD static constexpr std::uint32_t words_for(std::uint32_t pages_per_block) {
    return 2 * image_words(pages_per_block);
  }

  /// What is known of the block's pages; good until the record is changed.
  struct image {
    const std::uint64_t* words = nullptr;  ///< null: nothing is known
    std::uint32_t number = 0;              ///< 0 or 1: not to be written over
    bool damaged = false;                  ///< what was known is lost: of any page that counts

    GNSTOR_HD std::uint64_t sequence() const { return words == nullptr ? 0 : words[1]; }
    /// True if page `k` of the block, of the given sequence, was not known to have ended.
    GNSTOR_HD bool counts(std::uint32_t k, std::uint64_t page_sequence) const {
      return words == nullptr || page_sequence >= words[1] ||
             (words[2 + k / 64] >> k % 64 & 1) != 0;
    }
  };
  GNSTOR_HD image read() const {
    image found;
    for (std::uint32_t k = 0; k < 2; ++k) {
      if (!seal::is_set(*seal_of(k))) continue;
      const bool sound = *seal_of(k) == expected_seal(k);
      found.damaged = found.damaged || !sound;
      if (!sound || seal_of(k)[1] < found.sequence()) continue;
      found.words = seal_of(k);
      found.number = k;
    }
    if (found.damaged) found.words = nullptr;
    return found;
  }

  /// Writes down the live pages.
  /// @param k image to write: not the one that counts
  /// @param sequence of the shard's next commit
  /// @param oob of the block's first page
  GNSTOR_HD void write(std::uint32_t k, std::uint64_t sequence, const oob_entry* oob) const {
    std::uint64_t* to = seal_of(k);
    put(*to, 0);
    through_.order();
    std::uint64_t sum = mix64(start(k) ^ sequence);
    for (std::uint32_t first = 0; first < pages_; first += 64) {
      std::uint64_t live = 0;
      for (std::uint32_t page = first; page < pages_ && page < first + 64; ++page)
        live |= std::uint64_t{oob[page].state == page_state::valid ? 1u : 0u} << page % 64;
      put(to[2 + first / 64], live);
      sum = mix64(sum ^ live);
    }
    put(to[1], sequence);
    through_.order();
    put(*to, seal::of(sum));
    // A process killed here has both, and both are true.
    through_.order();
    put(*seal_of(1 - k), 0);
  }
  /// Forgets all. @par Callers also who erases the block, once that is done
  GNSTOR_HD void clear() const {
    put(*seal_of(0), 0);
    put(*seal_of(1), 0);
  }

 private:
  /// For who looks beside the owner: `metadata_image`.
  GNSTOR_HD static void put(std::uint64_t& at, std::uint64_t value) {
    system_word<std::uint64_t>(at).store(value, relaxed);
  }
  GNSTOR_HD static constexpr std::uint32_t image_words(std::uint32_t pages_per_block) {
    return 2 + (pages_per_block + 63) / 64;
  }
  GNSTOR_HD std::uint64_t* seal_of(std::uint32_t k) const {
    return words_ + std::uint64_t{k} * image_words(pages_);
  }
  GNSTOR_HD std::uint64_t start(std::uint32_t k) const {
    return mix64(std::uint64_t{block_} << 1 | k);
  }
  GNSTOR_HD std::uint64_t expected_seal(std::uint32_t k) const {
    std::uint64_t sum = start(k);
    for (std::uint32_t w = 1; w < image_words(pages_); ++w) sum = mix64(sum ^ seal_of(k)[w]);
    return seal::of(sum);
  }

  std::uint64_t* words_;
  std::uint32_t pages_;
  std::uint32_t block_;
  write_through through_;
};

}  // namespace gnstor::fw

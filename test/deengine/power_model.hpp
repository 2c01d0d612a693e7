#pragma once
/// What flash holds after its power has gone, written from docs/flash-format.md and without the
/// firmware: it judges the firmware, and a mistake of the one must not be a mistake of the other.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gnstor::test {

/// What is in the write buffer when power goes, in the order in which it goes to flash, and what
/// the capacitor still has energy for.
struct power_budget {
  std::vector<std::uint32_t> buffered{};  ///< committed pages that are not in flash yet
  std::uint32_t pages = ~0u;              ///< that can still be programmed
};

/// The flash of one SSD, as seen by whoever cuts its power.
class power_model {
 public:
  /// The SSD was stopped in order: all of its memory is in flash.
  void stopped(const void* metadata) {
    const auto* from = static_cast<const unsigned char*>(metadata);
    saved_.assign(from, from + arrays(from).end);
  }
  /// Makes an SSD's memory what flash holds, and fills with 0xA5 what was in DRAM. Of pages beyond
  /// the energy the first is torn, the others were never written; so were those whose commit was
  /// under way.
  /// @param data of the SSD's pages
  /// @return false: acknowledged writes may be lost
  bool cut(void* metadata, char* data, const power_budget& energy = {}) {
    auto* meta = static_cast<unsigned char*>(metadata);
    const arrays at(meta);
    if (word<std::uint64_t>(meta + checkpoint_at) == 0) saved_.clear();
    for (std::uint32_t page = 0; page < at.pages; ++page) {
      unsigned char* entry = meta + at.oob + std::uint64_t{page} * 32;
      if (is_committed(entry)) {
        const std::uint64_t state = at.oob + std::uint64_t{page} * 32 + 18;
        put<std::uint16_t>(meta + state, 1);
        if (!saved_.empty()) lose(meta, state, 2);
      } else {
        forget(entry, data, page);
      }
    }
    for (std::size_t k = energy.pages; k < energy.buffered.size(); ++k) {
      const std::uint32_t page = energy.buffered[k];
      unsigned char* entry = meta + at.oob + std::uint64_t{page} * 32;
      if (k == energy.pages) {
        tear(entry, data, page);
      } else {
        forget(entry, data, page);
      }
    }
    for (std::uint32_t block = 0; block < at.blocks; ++block)
      lose(meta, at.states + std::uint64_t{block} * 32, 28);
    lose(meta, 44, 4);
    lose(meta, 52, 12 - 4);
    lose(meta, 72, 4);
    lose(meta, 160, 176 - 160);
    lose(meta, 192, 200 - 192);
    lose(meta, 208, 256 - 208);
    lose(meta, 256, at.volumes - 256);
    lose(meta, at.free, at.states - at.free);
    lose(meta, at.mappings, at.oob - at.mappings);
    return energy.buffered.size() <= energy.pages;
  }

 private:
  static constexpr std::uint32_t page_bytes = 4096;
  static constexpr std::uint64_t checkpoint_at = 80;

  template <class T>
  static T word(const unsigned char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  template <class T>
  static void put(unsigned char* at, T value) {
    std::memcpy(at, &value, sizeof value);
  }

  /// Where the arrays lie.
  struct arrays {
    std::uint32_t pages, blocks;
    std::uint64_t volumes, free, states, mappings, oob, end;

    explicit arrays(const unsigned char* header) : pages(word<std::uint32_t>(header + 24)) {
      const auto shards = word<std::uint32_t>(header + 28);
      const auto in_block = word<std::uint32_t>(header + 32);
      const auto most_volumes = word<std::uint32_t>(header + 36);
      blocks = pages / in_block;
      std::uint64_t here = 0;
      const auto next = [&here](std::uint64_t bytes) {
        here += (bytes + 127) / 128 * 128;
        return here;
      };
      next(256);
      next(std::uint64_t{shards} * 128);
      volumes = next(65536 * 4);
      next(std::uint64_t{most_volumes} * 792);
      free = next(std::uint64_t{most_volumes} * 16 * 8);
      next(std::uint64_t{(blocks + 31) / 32 + 1} * 4);
      states = next(std::uint64_t{shards} * (in_block + 3) * 4);
      mappings = next(std::uint64_t{blocks} * 32);
      oob = next(std::uint64_t{shards} * buckets(pages, shards) * 32);
      next(std::uint64_t{pages} * 32);
      next(std::uint64_t{blocks} * 2 * (2 + (in_block + 63) / 64) * 8);
      end = next(std::uint64_t{shards} * std::max(64u, blocks / 64) * 24);
    }
    static std::uint64_t buckets(std::uint32_t pages, std::uint32_t shards) {
      const std::uint64_t mean = pages / shards;
      std::uint64_t root = 0;
      while ((root + 1) * (root + 1) <= 256 * mean && root + 1 < (1u << 21)) ++root;
      const std::uint64_t most = std::min<std::uint64_t>(pages, mean + 6 * (root + 1));
      return std::max<std::uint64_t>(40, (most * 100 / 85 + 4) / 4);
    }
  };

  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  static bool is_committed(const unsigned char* entry) {
    const auto sequence = word<std::uint64_t>(entry);
    const auto incarnation = word<std::uint32_t>(entry + 8);
    const auto block = word<std::uint32_t>(entry + 12);
    const auto vid = word<std::uint16_t>(entry + 16);
    const std::uint64_t sum =
        mix(mix(sequence ^ std::uint64_t{vid} << 48) ^ (std::uint64_t{incarnation} << 32 | block));
    return sequence != 0 && incarnation != 0 && word<std::uint32_t>(entry + 20) == sum >> 32;
  }
  static void forget(unsigned char* entry, char* data, std::uint32_t page) {
    std::memset(entry, 0, 32);
    std::memset(data + std::uint64_t{page} * page_bytes, 0xFF, page_bytes);
  }
  /// Power went while the page was programmed: its second half is erased, and so are some bits of
  /// its entry.
  static void tear(unsigned char* entry, char* data, std::uint32_t page) {
    put<std::uint32_t>(entry + 20, word<std::uint32_t>(entry + 20) ^ 0x5A00);
    std::memset(data + std::uint64_t{page} * page_bytes + page_bytes / 2, 0xFF, page_bytes / 2);
  }
  /// Part of the memory was not in flash, or is there as it was when the SSD was stopped.
  void lose(unsigned char* meta, std::uint64_t at, std::uint64_t bytes) const {
    if (saved_.empty()) {
      std::memset(meta + at, 0xA5, bytes);
    } else {
      std::memcpy(meta + at, saved_.data() + at, bytes);
    }
  }

  std::vector<unsigned char> saved_;  ///< what flash has of an SSD that was stopped; or nothing
};

}  // namespace gnstor::test

#pragma once

#include <deengine/metadata.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace gnstor::fw {

/// What flash holds of an SSD's metadata, as it was while the firmware went on: what a power cut is
/// to leave.
///
/// `take` finds no single moment, but something as good: an SSD with everything that was done
/// before `take`, and of each block what it was then or later, if no erase block was used anew
/// meanwhile whose pages had not ended before (`flush_numbers`). Each thing that has a seal is
/// copied as it was at some moment, and what makes others superfluous comes after these: a trim
/// journal before the live records that replace it, these before the pages that have taken over,
/// and marks of what has changed last. `ssd_identity::was_copied` has a mount know it.
/// @par Callers one thread, on the host
class metadata_image {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  /// Of zeroes.
  explicit metadata_image(const geometry& g)
      : shape_(g),
        at_(layout::of(g)),
        bytes_((at_.bytes + page_bytes - 1) / page_bytes * page_bytes),
        words_(static_cast<std::uint64_t*>(std::calloc(bytes_, 1)), std::free),
        changed_(bytes_ / page_bytes),
        seen_(g.blocks()) {
    if (words_ == nullptr) throw std::bad_alloc();
  }

  std::uint64_t bytes() const { return bytes_; }
  /// Pages that may not be zero.
  std::uint64_t most_pages() const {
    const std::uint64_t kept = at_.pool - at_.volumes + at_.bytes - at_.oob;
    return kept / page_bytes + 5;  // the header's, and where parts begin and end
  }
  char* data() { return reinterpret_cast<char*>(words_.get()); }
  const char* data() const { return reinterpret_cast<const char*>(words_.get()); }
  /// The pages that `take` has changed since the last `settle`, by number.
  std::vector<std::uint32_t> changed() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t k = 0; k < changed_.size(); ++k) {
      if (changed_[k]) all.push_back(k);
    }
    return all;
  }
  void settle() { std::fill(changed_.begin(), changed_.end(), false); }

  /// Makes it what the metadata at `base` is.
  void take(const void* base) {
    take(base, [] {});
  }
  /// @param between is called between the parts: for tests, in which everything else goes on then
  template <class Between>
  void take(const void* base, const Between& between) {
    const metadata from(const_cast<void*>(base), shape_);
    take_header(from);
    take_volumes(from);
    between();
    const std::uint64_t trims = std::uint64_t{shape_.shards} * shape_.trim_cells();
    take_each(from.trims(0), at_.trims(shape_), trims);
    between();
    for (std::uint32_t block = 0; block < shape_.blocks(); ++block) {
      take_record(from, block);
      if (block == shape_.blocks() / 2) between();
    }
    between();
    for (std::uint32_t block = 0; block < shape_.blocks(); ++block) {
      take_pages(from, block);
      if (block == shape_.blocks() / 2) between();
    }
    between();
    take_marks(from);
  }

  /// Makes the metadata at `base` what the image is, as far as flash holds it, for `recover`.
  /// @par Callers the host, while no shard runs
  void give(void* base) const {
    auto* to = static_cast<char*>(base);
    const auto part = [&](std::uint64_t first, std::uint64_t end) {
      std::memcpy(to + first, data() + first, end - first);
    };
    part(at_.volumes, at_.pool);
    part(at_.oob, at_.bytes);
    // Who is killed before has an SSD that is another start's, still.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    part(0, sizeof(metadata_header));
  }
  metadata_header header() const {
    metadata_header h;
    std::memcpy(static_cast<void*>(&h), words_.get(), sizeof h);
    return h;
  }

 private:
  using word = system_word<std::uint64_t>;

  /// What is known of an erase block: its erases, plus 1, when
  struct known {
    std::uint32_t empty = 0;   ///< it was free
    std::uint32_t full = 0;    ///< all of its pages were committed
    std::uint32_t record = 0;  ///< its live record was copied
  };

  static std::uint64_t load(const std::uint64_t& w) {
    return word(const_cast<std::uint64_t&>(w)).load(acquire);
  }
  void put(std::uint64_t at, std::uint64_t value) {
    std::uint64_t& here = words_[at / sizeof here];
    if (here == value) return;
    here = value;
    changed_[at / page_bytes] = true;
  }
  /// Copies `n` words as they were at one moment: until they are the same twice.
  void take_whole(const std::uint64_t* from, std::uint64_t to, std::uint32_t n) {
    for (bounded tries{~std::uint64_t{0}}; tries;) {
      for (std::uint32_t k = 0; k < n; ++k) put(to + k * sizeof *from, load(from[k]));
      bool same = true;
      for (std::uint32_t k = 0; k < n && same; ++k)
        same = words_[to / sizeof *from + k] == load(from[k]);
      if (same) return;
    }
  }
  /// Copies things one after another, each whole.
  template <class T>
  void take_each(const T* from, std::uint64_t to, std::uint64_t count) {
    static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
    for (std::uint64_t k = 0; k < count; ++k)
      take_whole(reinterpret_cast<const std::uint64_t*>(from + k), to + k * sizeof(T),
                 sizeof(T) / sizeof(std::uint64_t));
  }

  using header_words = std::array<std::uint64_t, sizeof(metadata_header) / sizeof(std::uint64_t)>;
  /// The header, but for what a mount computes anew.
  static header_words look_at_header(const metadata& from) {
    header_words words;
    const auto* there = reinterpret_cast<const std::uint64_t*>(&from.header());
    for (std::size_t k = 0; k < words.size(); ++k) words[k] = load(there[k]);
    metadata_header h;
    std::memcpy(static_cast<void*>(&h), words.data(), sizeof h);
    h.deletions = h.credit = h.changes = h.read_epoch = h.place = 0;
    h.checkpoint = 0;
    h.gpu_stop = metadata_header::gpu_at_rest;
    h.through = {};
    h.flushes = {};
    std::memcpy(words.data(), &h, sizeof h);
    return words;
  }
  void take_header(const metadata& from) {
    constexpr std::size_t moved = offsetof(metadata_header, moved) / sizeof(std::uint64_t);
    header_words now = look_at_header(from);
    for (bounded tries{~std::uint64_t{0}}; tries;) {
      header_words again = look_at_header(from);
      now[moved] = again[moved];  // a statistic, which never rests
      if (now == again) break;
      now = again;
    }
    for (std::size_t k = 0; k < now.size(); ++k) put(k * sizeof now[k], now[k]);
  }
  /// A volume that is as it was has the version that it had.
  void take_volumes(const metadata& from) {
    constexpr std::uint32_t n = sizeof(volume_slot) / sizeof(std::uint64_t);
    for (std::uint32_t k = 0; k < shape_.max_volumes; ++k) {
      const std::uint64_t to = at_.volumes + k * sizeof(volume_slot);
      const auto* slot = reinterpret_cast<const std::uint64_t*>(from.volumes() + k);
      if (words_[to / sizeof *slot] != load(slot[0])) take_whole(slot, to, n);
    }
  }
  static std::uint32_t erases_of(const metadata& from, std::uint32_t block) {
    return system_word<std::uint32_t>(from.blocks()[block].erases).load(acquire) + 1;
  }
  static bool is_erased_now(std::uint32_t erases) {
    return ((erases - 1) & block_state::erasing) != 0;
  }
  void take_record(const metadata& from, std::uint32_t block) {
    const std::uint32_t words = live_record::words_for(shape_.pages_per_block);
    const std::uint64_t first = std::uint64_t{block} * words;
    seen_[block].record = erases_of(from, block);
    take_whole(from.records() + first, at_.records(shape_) + first * sizeof(std::uint64_t), words);
  }
  /// A block whose pages go just now has none that is needed; one that was erased since its record
  /// was copied has none that the record knows.
  void take_pages(const metadata& from, std::uint32_t block) {
    known& was = seen_[block];
    for (bounded tries{~std::uint64_t{0}}; tries;) {
      // The erases before the owner: who takes a block that was erased since has counted that.
      const std::uint32_t erases = erases_of(from, block);
      if (is_erased_now(erases)) return forget_pages(block);
      const bool is_free =
          system_word<std::uint32_t>(from.blocks()[block].owner).load(acquire) == 0;
      const bool same = was.record == erases;
      if (same && (was.full == erases || (was.empty == erases && is_free))) return;
      if (!same) forget_record(block);
      std::uint32_t sealed = 0;
      for (std::uint32_t k = 0; k < shape_.pages_per_block; ++k)
        sealed += take_page(from, block * shape_.pages_per_block + k) ? 1 : 0;
      if (erases_of(from, block) != erases) continue;
      was.full = sealed == shape_.pages_per_block ? erases : 0;
      was.empty = sealed == 0 && is_free ? erases : 0;
      return;
    }
  }
  void forget_record(std::uint32_t block) {
    const std::uint32_t words = live_record::words_for(shape_.pages_per_block);
    for (std::uint32_t k = 0; k < words; ++k)
      put(at_.records(shape_) + (std::uint64_t{block} * words + k) * sizeof(std::uint64_t), 0);
  }
  void forget_pages(std::uint32_t block) {
    const std::uint64_t first = std::uint64_t{block} * shape_.pages_per_block;
    const std::uint64_t bytes = shape_.pages_per_block * sizeof(oob_entry);
    for (std::uint64_t k = 0; k < bytes; k += sizeof(std::uint64_t))
      put(at_.oob + first * sizeof(oob_entry) + k, 0);
    forget_record(block);
    seen_[block].full = seen_[block].empty = 0;
  }
  /// Copies an OOB entry. Its state is what nobody believes: what changes it alone is no change.
  /// @return true if the page is committed
  bool take_page(const metadata& from, std::uint32_t page) {
    oob_entry e;
    const auto* there = reinterpret_cast<const std::uint64_t*>(from.oob() + page);
    std::array<std::uint64_t, sizeof e / sizeof(std::uint64_t)> now;
    for (bounded tries{~std::uint64_t{0}}; tries;) {
      for (std::size_t k = 0; k < now.size(); ++k) now[k] = load(there[k]);
      bool same = true;
      for (std::size_t k = 0; k < now.size() && same; ++k) same = now[k] == load(there[k]);
      if (same) break;
    }
    std::memcpy(static_cast<void*>(&e), now.data(), sizeof e);
    e.state = e.is_sealed() ? page_state::valid : page_state::erased;
    // A page that is written, and not committed, is as good as erased.
    if (!e.is_sealed() && !e.is_damaged()) e = oob_entry{};
    std::memcpy(now.data(), &e, sizeof e);
    const std::uint64_t to = at_.oob + std::uint64_t{page} * sizeof e;
    for (std::size_t k = 0; k < now.size(); ++k) put(to + k * sizeof now[k], now[k]);
    return e.is_sealed();
  }
  void take_marks(const metadata& from) {
    const auto* base = reinterpret_cast<const char*>(&from.header());
    for (std::uint64_t at = at_.dirty(shape_); at < at_.pool; at += sizeof(std::uint64_t))
      put(at, load(*reinterpret_cast<const std::uint64_t*>(base + at)));
  }

  geometry shape_;
  layout at_;
  std::uint64_t bytes_;
  std::unique_ptr<std::uint64_t[], void (*)(void*)> words_;
  std::vector<bool> changed_;  ///< by page
  std::vector<known> seen_;    ///< by erase block
};

}  // namespace gnstor::fw

#pragma once

#include <deengine/metadata.hpp>
#include <deengine/page_crc.hpp>

#include <algorithm>
#include <cstring>

namespace gnstor::detail {

/// What the metadata of an SSD is, but for the checkpoint's own word.
inline std::uint32_t seal_of_metadata(const fw::metadata& meta) {
  alignas(64) char part[block_bytes] = {};
  fw::metadata_header header = meta.header();
  header.checkpoint = 0;
  std::memcpy(part, &header, sizeof header);
  std::uint64_t all = page_crc_alone(part);
  const auto* base = reinterpret_cast<const char*>(&meta.header());
  for (std::uint64_t at = sizeof header; at < meta.bytes(); at += block_bytes) {
    const std::uint64_t left = meta.bytes() - at;
    const char* from = base + at;
    if (left < block_bytes) {
      std::memset(part, 0, sizeof part);
      std::memcpy(part, from, left);
      from = part;
    }
    all = mix64(all ^ page_crc_alone(from));
  }
  return static_cast<std::uint32_t>(all >> 32);
}

/// What a mount that looks at all pages would believe of an SSD's flash: of each thing as much as
/// is set, so that what it does not believe may be anything.
class flash_sum {
 public:
  explicit flash_sum(const fw::metadata& meta) : meta_(meta) {}

  std::uint32_t operator()() {
    add_volumes();
    add_pages();
    add_records();
    add_trims();
    return static_cast<std::uint32_t>(sum_ >> 32);
  }

 private:
  void add(std::uint64_t word) { sum_ = mix64(sum_ ^ word); }
  void add_volumes() {
    for (std::uint32_t k = 0; k < meta_.shape().max_volumes; ++k) {
      const fw::volume_slot& slot = meta_.volumes()[k];
      add(slot.version);
      for (const std::uint64_t w : slot.images[slot.version % 2]) add(w);
    }
  }
  void add_pages() {
    constexpr std::uint32_t at_once = block_bytes / sizeof(fw::oob_entry);
    alignas(64) fw::oob_entry part[at_once];
    for (std::uint32_t first = 0; first < meta_.shape().pages; first += at_once) {
      for (std::uint32_t k = 0; k < at_once; ++k) {
        part[k] = fw::oob_entry{};
        if (first + k >= meta_.shape().pages) continue;
        const fw::oob_entry& e = meta_.oob()[first + k];
        if (!e.is_sealed() && !e.is_damaged()) continue;
        part[k] = e;
        part[k].state = fw::page_state::erased;
        part[k].crc = 0;
        part[k].key_check = part[k].sequence_check = 0;
      }
      add(page_crc_alone(part));
    }
  }
  void add_records() {
    const auto flash = meta_.flash<thread_scope_system>();
    for (std::uint32_t block = 0; block < meta_.shape().blocks(); ++block) {
      const auto now = flash.record(block).read();
      add(block << 1 | (now.damaged ? 1u : 0u));
      const std::uint32_t words = fw::live_record::words_for(meta_.shape().pages_per_block) / 2;
      for (std::uint32_t w = 0; now.words != nullptr && w < words; ++w) add(now.words[w]);
    }
  }
  void add_trims() {
    for (std::uint32_t s = 0; s < meta_.shape().shards; ++s) {
      for (std::uint32_t index = 0; index < meta_.shape().trim_cells(); ++index) {
        const fw::trim_entry& e = meta_.trims(s)[index];
        if (!e.is_sound(index) && !e.is_damaged(index)) continue;
        add(e.sequence ^ std::uint64_t{index} << 40);
        add(e.key(0));
        add(std::uint64_t{e.check} << 32 | e.blocks);
      }
    }
  }

  fw::metadata meta_;
  std::uint64_t sum_ = 0;
};

/// Frees every block that only readers kept: there are none. False: some page is pinned, or was
/// allocated for a write that is not committed.
inline bool come_to_rest(const fw::metadata& meta) {
  const auto flash = meta.flash<thread_scope_system>();
  for (std::uint32_t s = 0; s < meta.shape().shards; ++s) {
    const fw::shard_state& state = meta.shard(s);
    const auto waits = [&] {
      return state.condemned != fw::shard_state::none || state.retiring != fw::shard_state::none ||
             state.retired != fw::shard_state::none || flash.ranking(s).any_changed();
    };
    flash.reap(s);
    for (bounded n{meta.shape().blocks()}; waits() && n;) flash.reap(s);
    if (waits()) return false;
  }
  const std::uint32_t pages = meta.shape().pages_per_block;
  for (std::uint32_t block = 0; block < meta.shape().blocks(); ++block) {
    const fw::oob_entry* oob = &flash.oob(block * pages);
    const auto live = std::count_if(
        oob, oob + pages, [](const fw::oob_entry& e) { return e.state == fw::page_state::valid; });
    const fw::block_state& state = flash.state(block);
    if (state.pins != 0 || state.live != static_cast<std::uint32_t>(live)) return false;
  }
  return true;
}

}  // namespace gnstor::detail

namespace gnstor::fw {

/// Seals the metadata of an SSD that is stopped in order: the next `recover` then need not look at
/// every page. What flash does not hold by itself (mapping, block states, marks of ended pages)
/// counts as saved.
///
/// There are two seals in one word: one over all of it, and one over what flash holds by itself. If
/// only the second matches, the SSD is scanned as after a power cut; if neither does, something was
/// damaged that a scan would believe: `recover` says what it can vouch for then.
/// @par Callers the host, while no shard runs
/// @par Result false: commands are under way, and the next mount scans
inline bool checkpoint(void* base, const geometry& g) {
  const metadata meta(base, g);
  meta.header().checkpoint = 0;
  meta.header().flushes = {};  // nobody changes pages that a power cut may bring back
  if (!gnstor::detail::come_to_rest(meta)) return false;
  const std::uint64_t flash = gnstor::detail::flash_sum(meta)();
  meta.header().checkpoint = seal::of(flash << 32 | gnstor::detail::seal_of_metadata(meta));
  return true;
}

/// Ends a checkpoint, before anything changes. @par Callers the host, before any shard runs
inline void end_checkpoint(void* base, const geometry& g) {
  metadata(base, g).header().checkpoint = 0;
}

/// What became of a checkpoint.
enum class checkpoint_state : std::uint8_t {
  none,         ///< the SSD was not stopped in order
  whole,        ///< the metadata is as it was sealed
  flash_alone,  ///< what flash holds by itself is; the rest has to be made anew
  damaged,      ///< nor is that
};

/// Compares the metadata with what `checkpoint` sealed.
/// @par Callers the host, before any shard runs
inline checkpoint_state look_at_checkpoint(void* base, const geometry& g) {
  const metadata meta(base, g);
  const std::uint64_t sealed = meta.header().checkpoint;
  if (!seal::is_set(sealed)) return checkpoint_state::none;
  const auto all = static_cast<std::uint32_t>(seal::of(gnstor::detail::seal_of_metadata(meta)));
  if (static_cast<std::uint32_t>(sealed) == all) return checkpoint_state::whole;
  const std::uint32_t flash = gnstor::detail::flash_sum(meta)();
  return sealed >> 32 == flash ? checkpoint_state::flash_alone : checkpoint_state::damaged;
}

}  // namespace gnstor::fw

#pragma once

#include <deengine/metadata.hpp>
#include <deengine/page_crc.hpp>

#include <algorithm>
#include <cstring>

namespace gnstor::detail {

/// What the metadata of an SSD is, but for the checkpoint's own word; never 0.
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
  return static_cast<std::uint32_t>(all >> 32) | 1;
}

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
/// The seal is over all of it, so that a file whose pages came to the disk only in part, or that
/// somebody has changed since, is scanned as after a power cut.
/// @par Callers the host, while no shard runs
/// @par Result false: commands are under way, and the next mount scans
inline bool checkpoint(void* base, const geometry& g) {
  const metadata meta(base, g);
  meta.header().checkpoint = 0;
  if (!gnstor::detail::come_to_rest(meta)) return false;
  meta.header().checkpoint = gnstor::detail::seal_of_metadata(meta);
  return true;
}

/// Ends a checkpoint, before anything changes. @par Callers the host, before any shard runs
inline void end_checkpoint(void* base, const geometry& g) {
  metadata(base, g).header().checkpoint = 0;
}

/// True if the metadata is what `checkpoint` sealed; the checkpoint is over then.
inline bool resume(void* base, const geometry& g) {
  const metadata meta(base, g);
  const bool sound = meta.header().checkpoint != 0 &&
                     meta.header().checkpoint == gnstor::detail::seal_of_metadata(meta);
  meta.header().checkpoint = 0;
  return sound;
}

}  // namespace gnstor::fw

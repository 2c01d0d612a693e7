#pragma once

#include <deengine/block_pool.hpp>
#include <deengine/block_ranking.hpp>
#include <deengine/cuckoo_map.hpp>
#include <deengine/dirty_log.hpp>
#include <deengine/live_record.hpp>
#include <deengine/metadata_header.hpp>
#include <deengine/oob_entry.hpp>
#include <deengine/shard_state.hpp>
#include <deengine/trim_entry.hpp>
#include <deengine/volume_slot.hpp>

namespace gnstor::fw {

/// Where each array of an SSD's metadata lies: byte offsets into one block, which the caller
/// allocates or maps.
///
/// Offsets and no pointers are kept in the block, so that it may be a file mapped elsewhere next
/// time. Page data is not part of it.
struct layout {
  std::uint64_t shards = 0;        ///< `shard_state[shards]`
  std::uint64_t volume_index = 0;  ///< `uint32_t[65536]`: VID to slot plus 1
  std::uint64_t volumes = 0;       ///< `volume_slot[max_volumes]`
  std::uint64_t pool = 0;          ///< `uint32_t[]`: one bit per free block, and their count
  std::uint64_t rankings = 0;      ///< `uint32_t[shards][]`: heads of a `block_ranking`
  std::uint64_t blocks = 0;        ///< `block_state[blocks]`
  std::uint64_t mapping = 0;       ///< `uint64_t[shards][buckets * 4]`
  std::uint64_t oob = 0;           ///< `oob_entry[pages]`
  std::uint64_t bytes = 0;         ///< of the whole metadata block
  std::uint32_t buckets = 0;       ///< of one shard's mapping table

  GNSTOR_HD static constexpr layout of(const geometry& g) {
    layout at;
    at.buckets = cuckoo_map::buckets_for(g.most_mapped());
    at.shards = sizeof(metadata_header);
    at.volume_index = after(at.shards, g.shards, sizeof(shard_state));
    at.volumes = after(at.volume_index, vid_count, sizeof(std::uint32_t));
    at.pool = after(at.dirty(g), g.max_volumes,
                    dirty_log<thread_scope_system>::words_each * sizeof(std::uint64_t));
    at.rankings = after(at.pool, block_pool<thread_scope_system>::word_count(g.blocks()),
                        sizeof(std::uint32_t));
    const std::uint64_t heads = block_ranking::heads_for(g.pages_per_block);
    at.blocks = after(at.rankings, g.shards * heads, sizeof(std::uint32_t));
    at.mapping = after(at.blocks, g.blocks(), sizeof(block_state));
    at.oob = after(at.mapping, std::uint64_t{g.shards} * at.buckets * cuckoo_map::ways,
                   sizeof(std::uint64_t));
    at.bytes = after(at.trims(g), std::uint64_t{g.shards} * g.trim_cells(), sizeof(trim_entry));
    return at;
  }

  // What is rarely asked for is not kept: of a kernel's argument of more than 128 bytes nvcc 13.0
  // takes the address, and reads it as local memory.
  /// `uint64_t[max_volumes][16]`: a `dirty_log` each
  GNSTOR_HD constexpr std::uint64_t dirty(const geometry& g) const {
    return after(volumes, g.max_volumes, sizeof(volume_slot));
  }
  /// `uint64_t[blocks][]`: a `live_record` each
  GNSTOR_HD constexpr std::uint64_t records(const geometry& g) const {
    return after(oob, g.pages, sizeof(oob_entry));
  }
  /// `trim_entry[shards][]`: a `trim_journal` each
  GNSTOR_HD constexpr std::uint64_t trims(const geometry& g) const {
    const std::uint64_t words = live_record::words_for(g.pages_per_block);
    return after(records(g), g.blocks() * words, sizeof(std::uint64_t));
  }

 private:
  /// Where the array behind one begins.
  GNSTOR_HD static constexpr std::uint64_t after(std::uint64_t start, std::uint64_t count,
                                                 std::uint64_t size) {
    return next_array(start + count * size);
  }
};

}  // namespace gnstor::fw

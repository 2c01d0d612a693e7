#pragma once

#include <deengine/metadata.hpp>
#include <deengine/mount_status.hpp>
#include <deengine/ssd_identity.hpp>

#include <cstring>

namespace gnstor::fw {

/// Makes `bytes` at `base` the metadata of an empty SSD. The block holds no pointers: it may be
/// made on the host and copied to a GPU. Page data is left as it is, as no mapping reaches it.
/// @par Callers the host, before any shard runs
inline mount_status format(void* base, std::uint64_t bytes, const geometry& g,
                           const ssd_identity& who) {
  if (g.fault() != nullptr) return mount_status::bad_geometry;
  const metadata meta(base, g);
  if (bytes < meta.bytes()) return mount_status::too_small;
  std::memset(base, 0, meta.bytes());
  const block_pool<thread_scope_system> pool(meta.pool_words(), g.blocks());
  for (std::uint32_t block = 0; block < g.blocks(); ++block) {
    meta.blocks()[block] = block_state{};
    pool.give(block);
  }
  meta.clear_shards();
  metadata_header header;
  header.self = header.place = who.self;
  header.ssd_count = who.ssd_count;
  header.epoch = header.read_epoch = who.epoch;
  header.membership[0] = membership_record::of(who.epoch, 0, 0);
  header.shape = g;
  header.boot = who.boot;
  header.credit = g.usable_pages();
  header.identity = header.expected_identity();
  meta.header() = header;
  return mount_status::ok;
}

}  // namespace gnstor::fw

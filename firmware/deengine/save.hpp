#pragma once

#include <deengine/metadata.hpp>

#include <atomic>
#include <cstring>

namespace gnstor::detail {

/// Brings one slot of a permission table up to date. Whenever `store` stops, the slot holds an
/// image that was published: the one that does not count goes first, then the version, then the
/// other.
/// @param store `store(to, from, words)` copies 8-byte words
template <class Store>
inline void save_slot(const fw::volume_slot& from, fw::volume_slot& to, const Store& store) {
  if (from.version == to.version) return;
  const std::uint64_t first = 1 - to.version % 2;
  const std::uint64_t between = from.version % 2 == first ? from.version : from.version - 1;
  store(to.images[first], from.images[first], fw::volume_slot::words);
  store(&to.version, &between, 1);
  store(to.images[1 - first], from.images[1 - first], fw::volume_slot::words);
  store(&to.version, &from.version, 1);
}

}  // namespace gnstor::detail

namespace gnstor::fw {

/// Copies an SSD's metadata over an older state of it, as when a GPU gives back what it had. A
/// process killed on the way leaves volumes that can be mounted, as they were or as they are; pages
/// written meanwhile may be lost.
/// @param from, to metadata blocks of geometry `g`
/// @param written_through `to` is flash that received every change: a kill on the way loses
/// nothing
/// @par Callers the host, while no shard runs
inline void save(const void* from, void* to, const geometry& g, bool written_through = false) {
  const layout at = layout::of(g);
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  const auto* slots = reinterpret_cast<const volume_slot*>(source + at.volumes);
  for (std::uint32_t k = 0; k < g.max_volumes; ++k) {
    gnstor::detail::save_slot(slots[k], reinterpret_cast<volume_slot*>(target + at.volumes)[k],
                              [](std::uint64_t* into, const std::uint64_t* words, std::size_t n) {
                                std::memcpy(into, words, n * sizeof *words);
                                std::atomic_signal_fence(std::memory_order_seq_cst);
                              });
  }
  metadata_header header = *reinterpret_cast<const metadata_header*>(source);
  header.through = {};
  std::memcpy(target, &header, sizeof header);
  std::memcpy(target + at.shards, source + at.shards, at.volumes - at.shards);
  const std::uint64_t end = written_through ? at.records(g) : at.bytes;
  std::memcpy(target + at.pool, source + at.pool, end - at.pool);
  // Marks that are still good come last: until then there are more.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(target + at.dirty(g), source + at.dirty(g), at.pool - at.dirty(g));
}

}  // namespace gnstor::fw

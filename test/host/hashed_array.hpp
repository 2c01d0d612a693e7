#pragma once
/// Arrays that keep words of those pages alone that lie in frames: the same on a CPU and on a GPU.

#include "mapped_kernels.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/hashed.hpp>
#include <gnstor/host/mapped_array.hpp>
#include <gnstor/host/memory_array.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace gnstor::test {

/// Elements; the last page ends within itself.
inline constexpr std::uint64_t hashed_count = 200'001;

/// Adds to every element its index twice, first by the warps that miss pages, then beside a pager,
/// and looks whether each was there once and came back.
/// @param attach lets a run reach what the array lies on
template <class Array, class Attach>
void double_indices(Array& a, std::uint32_t grid, std::uint32_t pagers, const Attach& attach) {
  std::vector<std::uint32_t> all(hashed_count);
  for (std::uint32_t i = 0; i < hashed_count; ++i) all[i] = i;
  a.write(0, hashed_count, all.data());
  gnstor::host::executor alone, served;
  alone.spawn(grid, 128, add_index{}, a.view());
  attach(alone);
  alone.run();
  served.spawn(grid, 128, add_index{}, a.served_view());
  attach(served);
  a.attach(served, {.warps = pagers});
  served.run();
  a.flush();
  CHECK(a.counters().evictions >= 2 * (a.pages() - a.frames()));
  CHECK(a.counters().io_errors == 0);
  a.read(0, hashed_count, all.data());
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < hashed_count; ++i) wrong += all[i] != 3 * i ? 1 : 0;
  CHECK(wrong == 0);
  a.close();
}

template <class T, class Pages>
using hashed_array = gnstor::host::array<T, gnstor::host::hashed<Pages>>;

/// On a volume, whose frames are a seventh of the pages.
inline void walk_hashed_volume(const std::string& endpoint, std::uint32_t grid,
                               std::uint32_t pagers) {
  CAPTURE(endpoint);
  gnstor::host::session s(endpoint);
  const volume_info v = s.create_volume({.bytes = 4 * hashed_count});
  hashed_array<std::uint32_t, gnstor::host::volume_pages> a(
      s, v, hashed_count, {.frame_bytes = 32 * 4096, .page_bytes = 4096});
  double_indices(a, grid, pagers, [&](gnstor::host::executor& run) { s.attach(run); });
}
/// On host memory.
inline void walk_hashed_memory(std::uint32_t page, std::uint32_t grid, std::uint32_t pagers) {
  CAPTURE(page);
  gnstor::host::mapped_memory memory("host:?bytes=1M");
  hashed_array<std::uint32_t, gnstor::host::mapped_pages> a(
      memory, hashed_count, {.frame_bytes = 40u * page, .page_bytes = page});
  double_indices(a, grid, pagers, [](gnstor::host::executor&) {});
}
/// On memory of a peer.
inline void walk_hashed_peer(const std::string& endpoint, std::uint32_t grid,
                             std::uint32_t pagers) {
  CAPTURE(endpoint);
  gnstor::host::remote_memory memory(endpoint);
  hashed_array<std::uint32_t, gnstor::host::memory_pages> a(
      memory, hashed_count, {.frame_bytes = 64 * 1024, .page_bytes = 1024});
  double_indices(a, grid, pagers, [&](gnstor::host::executor& run) { memory.attach(run); });
}

}  // namespace gnstor::test

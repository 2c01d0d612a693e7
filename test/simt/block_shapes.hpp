#pragma once
/// Blocks that are no single line of whole warps: what their lanes take for their warp, on both
/// machines.

#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace gnstor::test {

/// A grid and the shape of its blocks.
struct launch {
  simt::shape grid;
  simt::shape block;
};

/// What tests of warps run: less than a warp, a warp and a half, the same in two dimensions, whole
/// warps in two and three, and the largest block.
inline constexpr launch launches[] = {{3, 16},          {3, 48},       {3, {8, 6}},
                                      {{2, 2}, {8, 6}}, {2, {16, 16}}, {{1, 2, 2}, {4, 3, 5}},
                                      {2, 1024}};

/// What a lane says of its position.
struct position {
  std::uint32_t warp = 0;
  std::uint32_t warps = 0;
  std::uint32_t global = 0;
  std::uint32_t thread = 0;
  std::uint32_t lanes = 0;   ///< of its group
  std::uint32_t voters = 0;  ///< lanes that took part in a vote of the warp
  std::uint32_t first = 0;   ///< global thread of the lane of rank 0
  simt::coordinates at{};
  simt::coordinates block_at{};
};

struct record_position {
  struct shared {};
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, position* positions) const {
    const simt::group g = lane.warp();
    const std::uint32_t voters = g.ballot(1);
    const std::uint32_t first = g.shfl(lane.global_thread(), 0);
    positions[lane.global_thread()] = {simt::warp_number(),
                                       simt::warp_count(),
                                       lane.global_thread(),
                                       lane.thread(),
                                       g.lanes(),
                                       voters,
                                       first,
                                       lane.thread_at(),
                                       lane.block_at()};
  }
};

/// Checks the positions of a launch against warps that are counted one by one.
inline void check_positions(const launch& how, const std::vector<position>& positions) {
  std::uint32_t global = 0, warp = 0;
  std::uint32_t wrong = 0;
  const std::uint32_t threads = how.block.x * how.block.y * how.block.z;
  const std::uint32_t warps = how.grid.count() * (threads / 32 + (threads % 32 != 0 ? 1 : 0));
  for (std::uint32_t bz = 0; bz < how.grid.z; ++bz)
    for (std::uint32_t by = 0; by < how.grid.y; ++by)
      for (std::uint32_t bx = 0; bx < how.grid.x; ++bx) {
        std::uint32_t thread = 0;
        for (std::uint32_t z = 0; z < how.block.z; ++z)
          for (std::uint32_t y = 0; y < how.block.y; ++y)
            for (std::uint32_t x = 0; x < how.block.x; ++x) {
              const std::uint32_t before = thread / 32 * 32;
              const std::uint32_t size = threads - before < 32 ? threads - before : 32;
              const std::uint32_t lanes = size == 32 ? ~0u : (1u << size) - 1;
              const position& s = positions[global];
              wrong += s.global == global && s.thread == thread && s.warp == warp &&
                               s.warps == warps && s.lanes == lanes && s.voters == lanes &&
                               s.first == global - thread % 32 &&
                               s.at == simt::coordinates{x, y, z} &&
                               s.block_at == simt::coordinates{bx, by, bz}
                           ? 0
                           : 1;
              ++global;
              if (++thread % 32 == 0 || thread == threads) ++warp;
            }
      }
  CHECK(global == positions.size());
  CHECK(warp == warps);
  CHECK(wrong == 0);
}

}  // namespace gnstor::test

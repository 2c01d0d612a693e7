#pragma once

#include <gnstor/core/config.hpp>

#include <concepts>

namespace gnstor::simt {

/// A set of lanes of one warp with the cooperative-groups interface; ranks and returned masks are
/// relative to the group.
///
/// Models: `cooperative_groups::thread_block_tile<32>`, `cooperative_groups::coalesced_group`, and
/// this library's `simt::group` and `simt::single_lane`, which run on both machines. Collectives
/// other than `sync` order no memory.
template <class G>
concept warp_group = requires(const G& g, int predicate, std::uint32_t w32, std::uint64_t w64,
                              int rank) {
  { g.thread_rank() } -> std::convertible_to<std::uint32_t>;
  { g.size() } -> std::convertible_to<std::uint32_t>;
  g.sync();
  { g.ballot(predicate) } -> std::convertible_to<std::uint32_t>;
  { g.any(predicate) } -> std::convertible_to<bool>;
  { g.all(predicate) } -> std::convertible_to<bool>;
  { g.shfl(w32, rank) } -> std::same_as<std::uint32_t>;
  { g.shfl(w64, rank) } -> std::same_as<std::uint64_t>;
  { g.match_any(w64) } -> std::convertible_to<std::uint32_t>;
};

}  // namespace gnstor::simt

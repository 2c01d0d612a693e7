#pragma once
/// What every lane of a warp must get from each collective; run on both machines.

#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace gnstor::test {

/// What one lane saw.
struct collective_record {
  std::uint32_t rank, size, ballot, any, all, shfl, broadcast, match, leads;
  std::uint32_t part_rank, part_size, part_lanes, part_leader;
  std::uint32_t leading, leading_all, leading_none;
  std::uint32_t odd_rank, odd_ballot, odd_shfl, odd_match, odd_leading;
  std::uint64_t wide_shfl;
  std::uint32_t tail_ballot, tail_any;
  std::uint32_t barrier;
};

inline constexpr std::uint32_t collective_block = 70;  ///< two full warps and one of six threads
inline constexpr std::uint32_t collective_grid = 2;

struct collective_kernel {
  struct shared {
    std::uint32_t sum[collective_block];
  };

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, collective_record* out) const {
    collective_record& r = out[lane.global_thread()];
    if (lane.thread() < 64) {
      whole_warp(lane.warp(), r);
      if (simt::group::lane() % 2 == 1) odd_lanes(simt::group(0xaaaaaaaau), r);
    } else {
      const simt::group rest = lane.warp();
      r.tail_ballot = rest.ballot(1);
      r.tail_any = rest.any(simt::group::lane() == 5) ? 1 : 0;
    }
    lane.shared().sum[lane.thread()] = lane.thread() + 1;
    lane.sync_block();
    std::uint32_t sum = 0;
    for (std::uint32_t t = 0; t < lane.block_threads(); ++t) sum += lane.shared().sum[t];
    r.barrier = sum;
  }

  GNSTOR_HD static void whole_warp(const simt::group& g, collective_record& r) {
    const std::uint32_t me = g.thread_rank();
    r.rank = me;
    r.size = g.size();
    r.leads = g.leads() ? 1 : 0;
    r.ballot = g.ballot(me % 3 == 0);
    r.leading = g.leading(me < 9 || me > 20);
    r.leading_all = g.leading(1);
    r.leading_none = g.leading(me != 0);
    r.any = g.any(me == 31) ? 1 : 0;
    r.all = g.all(me != 31) ? 1 : 0;
    r.shfl = g.shfl(me * 3, 5);
    r.wide_shfl = g.shfl(std::uint64_t{me} << 40, static_cast<int>((me + 1) % 32));
    r.broadcast = g.broadcast(me + 100);
    r.match = g.match_any(me / 8);
    const simt::group part = g.partition(std::uint64_t{me} % 5);
    r.part_rank = part.thread_rank();
    r.part_size = part.size();
    r.part_lanes = part.lanes();
    r.part_leader = part.broadcast(me);
    g.sync();
  }

  GNSTOR_HD static void odd_lanes(const simt::group& g, collective_record& r) {
    const std::uint32_t me = simt::group::lane();
    r.odd_rank = g.thread_rank();
    r.odd_ballot = g.ballot(me < 8);
    r.odd_leading = g.leading(me < 8);
    r.odd_shfl = g.shfl(me, 3);
    r.odd_match = g.match_any(me > 16 ? 1u : 0u);
    g.sync();
  }
};

/// Compares every lane's record with the definition of the collectives.
inline void check_collectives(const std::vector<collective_record>& all) {
  REQUIRE(all.size() == collective_grid * collective_block);
  for (std::uint32_t k = 0; k < all.size(); ++k) {
    const std::uint32_t thread = k % collective_block;
    const std::uint32_t lane = thread % 32;
    const collective_record& r = all[k];
    CAPTURE(k);
    CHECK(r.barrier == collective_block * (collective_block + 1) / 2);
    if (thread >= 64) {
      CHECK(r.tail_ballot == 0x3fu);
      CHECK(r.tail_any == 1);
      continue;
    }
    CHECK(r.rank == lane);
    CHECK(r.size == 32);
    CHECK(r.leads == (lane == 0 ? 1 : 0));
    CHECK(r.ballot == 0x49249249u);
    CHECK(r.leading == 9);
    CHECK(r.leading_all == 32);
    CHECK(r.leading_none == 0);
    CHECK(r.any == 1);
    CHECK(r.all == 0);
    CHECK(r.shfl == 15);
    CHECK(r.wide_shfl == std::uint64_t{(lane + 1) % 32} << 40);
    CHECK(r.broadcast == 100);
    CHECK(r.match == 0xffu << (lane / 8 * 8));
    CHECK(r.part_rank == lane / 5);
    CHECK(r.part_size == (lane % 5 < 2 ? 7 : 6));
    std::uint32_t part = 0;
    for (std::uint32_t other = lane % 5; other < 32; other += 5) part |= 1u << other;
    CHECK(r.part_lanes == part);
    CHECK(r.part_leader == lane % 5);
    if (lane % 2 == 0) continue;
    CHECK(r.odd_rank == lane / 2);
    CHECK(r.odd_ballot == 0xfu);
    CHECK(r.odd_leading == 4);
    CHECK(r.odd_shfl == 7);
    CHECK(r.odd_match == (lane > 16 ? 0xff00u : 0x00ffu));
  }
}

}  // namespace gnstor::test

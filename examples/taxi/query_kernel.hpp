#pragma once

#include "../support/held_page.hpp"
#include "trips.hpp"
#include <gnstor/core/result.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/group.hpp>

#include <cuda/std/bit>

#include <cstdint>

namespace taxi {

/// What a query finds, zero at the start.
struct query_sums {
  std::uint64_t taken = 0;                   ///< portions that warps took
  std::uint64_t trips = 0;                   ///< that are long
  std::uint64_t values[value_columns] = {};  ///< of these trips: the sum of each column
  std::uint64_t accesses = 0;                ///< elements read through the views
  std::uint64_t failed = 0;                  ///< reads that came back with an error
};

/// The columns as views.
template <class Seconds, class Values>
struct trip_columns {
  Seconds seconds;
  Values values[value_columns];
};

/// Sums the first columns of long trips. A warp scans the seconds on pages that it holds, and
/// notes long trips, one per lane: so all lanes read a column of several trips at a time.
/// @tparam Columns `trip_columns`
template <class Columns>
struct sum_long_trips {
  static constexpr std::uint64_t portion = 16'384;  ///< rows that a warp takes

  template <class Lane>
  GNSTOR_HD void operator()(Lane&, Columns c, std::uint32_t columns, query_sums* all) const {
    const auto warp = gnstor::simt::group::whole_warp();
    query_sums mine;
    for (std::uint64_t first = take(warp, *all); first < c.seconds.size();
         first = take(warp, *all)) {
      const std::uint64_t rest = c.seconds.size() - first;
      scan(warp, c, columns, {first, first + (rest < portion ? rest : portion)}, mine);
    }
    add(all->trips, mine.trips);
    for (std::uint32_t k = 0; k < value_columns; ++k) add(all->values[k], mine.values[k]);
    add(all->accesses, mine.accesses);
    add(all->failed, mine.failed);
  }

 private:
  struct rows {
    std::uint64_t first;
    std::uint64_t last;
  };

  GNSTOR_HD static std::uint64_t take(const gnstor::simt::group& warp, query_sums& all) {
    std::uint64_t k = 0;
    if (warp.leads())
      k = gnstor::device_word<std::uint64_t>(all.taken).fetch_add(1, gnstor::relaxed);
    return warp.broadcast(k) * portion;
  }

  GNSTOR_HD static void scan(const gnstor::simt::group& warp, const Columns& c,
                             std::uint32_t columns, const rows& some, query_sums& mine) {
    support::held_page page(c.seconds);
    const std::uint32_t rank = warp.thread_rank();
    std::uint64_t noted = 0;  // this lane's trip
    std::uint32_t count = 0;  // of noted trips, in the lanes from 0 on
    for (std::uint64_t at = some.first; at < some.last; at += 32) {
      if (!page.turn_to(warp, at)) {
        if (warp.leads()) ++mine.failed;
        continue;
      }
      bool is_long = false;
      if (at + rank < some.last) {
        is_long = page[at + rank] > long_trip_seconds;
        ++mine.accesses;
      }
      for (std::uint32_t set = warp.ballot(is_long); set != 0; set &= set - 1) {
        if (rank == count) noted = at + static_cast<std::uint32_t>(cuda::std::countr_zero(set));
        if (++count < 32) continue;
        read(warp, c, columns, noted, true, mine);
        count = 0;
      }
    }
    page.release(warp);
    if (count != 0) read(warp, c, columns, noted, rank < count, mine);
  }

  /// Adds the trip of every lane that has one.
  GNSTOR_HD static void read(const gnstor::simt::group& warp, const Columns& c,
                             std::uint32_t columns, std::uint64_t row, bool has_row,
                             query_sums& mine) {
    mine.trips += has_row;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (std::uint32_t k = 0; k < value_columns; ++k) {
      if (k >= columns) break;
      if (has_row) {
        const gnstor::result<std::uint32_t> value = c.values[k].load(row);
        mine.values[k] += value.value;
        mine.failed += !value;
        ++mine.accesses;
      }
      warp.sync();
    }
  }

  GNSTOR_HD static void add(std::uint64_t& sum, std::uint64_t value) {
    if (value != 0) gnstor::device_word<std::uint64_t>(sum).fetch_add(value, gnstor::relaxed);
  }
};

}  // namespace taxi

#pragma once

#include <gnstor/array/hashed_store.hpp>
#include <gnstor/array/mapped_array.hpp>
#include <gnstor/array/memory_array.hpp>
#include <gnstor/array/remote_array.hpp>
#include <gnstor/array/serve_faults.hpp>
#include <gnstor/host/pager.hpp>

namespace gnstor::detail {

using store_of_a_peer = rdma_memory_store<remote_memory_channel>;

/// Adds a pager to a run of either machine: blocks of `most_threads`, and grids that begin after
/// all of its warps.
template <class Executor, class Pages>
void start_pager_of(Executor& run, const Pages& pages, const pager_setup& s) {
  using pager = serve_faults<Pages>;
  constexpr std::uint32_t warps_a_block = pager::most_threads / 32;
  const std::uint32_t warps = s.fetchers + s.cleaners;
  const bool small = warps < warps_a_block;
  const std::uint32_t blocks = small ? 1 : warps / warps_a_block;
  run.serve(blocks, small ? 32 * warps : pager::most_threads, *s.stop,
            pager{pages, s.faults, s.timeout_ns, s.stop, s.arrived, s.fetchers});
  run.ends_first();  // a cleaner may be at a write when the last kernel ends
  if (s.start_timeout.ns() != 0) run.begin_after(*s.arrived, warps, s.start_timeout);
}

}  // namespace gnstor::detail

#pragma once
/// What a benchmark reports of a churn: ours next to the baselines, on the same requests.

#include "contiguity.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace gnstor::contiguity {

inline double share(const record& seen, int kind) {
  return static_cast<double>(seen.whole[kind]) / static_cast<double>(seen.asked[kind]);
}

/// Whether a churn lost nothing and no page had two owners; else an error in `state`.
inline bool verified(benchmark::State& state, const record& seen, bool all_free) {
  const bool right = seen.overlaps == 0 && seen.wrong == 0 && seen.live_bytes == 0 &&
                     seen.asked[2] != 0 && all_free;
  if (!right) state.SkipWithError("a page had two owners, or was leaked");
  return right;
}

/// Runs the churn with each allocator and sets the counters.
/// @param run `run.template operator()<Allocator>(record&)` churns; false if it was wrong
template <class Run>
void compare(benchmark::State& state, Run run) {
  using bitmap = baseline::single_level_bitmap<thread_scope_device>;
  record ours, flat, packed, lists;
  for (auto _ : state) {
    if (!run.template operator()<block_allocator<thread_scope_device>>(ours) ||
        !run.template operator()<bitmap>(flat) ||
        !run.template operator()<first_fit_bitmap<thread_scope_device>>(packed) ||
        !run.template operator()<baseline::buddy_allocator<thread_scope_device>>(lists))
      return;
  }
  state.counters["contiguous_64k"] = share(ours, 1);
  state.counters["contiguous_1m"] = share(ours, 2);
  state.counters["bitmap_64k"] = share(flat, 1);
  state.counters["bitmap_1m"] = share(flat, 2);
  state.counters["first_fit_bitmap_1m"] = share(packed, 2);
  state.counters["buddy_1m"] = share(lists, 2);
  state.counters["requests"] = static_cast<double>(ours.asked[0] + ours.asked[1] + ours.asked[2]);
  state.counters["skipped"] = static_cast<double>(ours.skipped);
  state.counters["unserved"] = static_cast<double>(ours.unserved);
}

/// Registers `churn(state, pool_bytes, warps)` for pools of 64 MiB and 8 MiB, one warp and eight.
template <class Churn>
bool register_churns(const std::string& prefix, Churn churn) {
  for (const std::uint64_t mib : {64, 8}) {
    for (const std::uint32_t warps : {1u, 8u}) {
      const std::string name =
          prefix + "/churn/" + std::to_string(mib) + "MiB/" + std::to_string(warps);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& s) { churn(s, mib << 20, warps); })
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}

}  // namespace gnstor::contiguity

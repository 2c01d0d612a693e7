#pragma once
/// What the families of benchmarks share: how they are entered, how long they run, what they
/// report.

#include "../support/statistics.hpp"
#include "rig.cuh"
#include "shape.hpp"

#include <benchmark/benchmark.h>

namespace gnstor::benchmarks {

using body = void (*)(benchmark::State&, const shape&);

/// Enters a benchmark. What it throws is its failure, not the program's.
inline void add(const std::string& name, body run, const shape& s, int iterations) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) {
                                 try {
                                   run(state, s);
                                 } catch (const std::exception& e) {
                                   state.SkipWithError(e.what());
                                 }
                               })
      ->UseManualTime()
      ->Iterations(iterations)
      ->Unit(benchmark::kMillisecond);
}

inline void fails(benchmark::State& state) {
  state.SkipWithError("wrong bytes or failed operations");
}

/// Says why a benchmark cannot run here: it has no figures, and is no failure.
inline void skips(benchmark::State& state, const std::string& why) {
  for (auto _ : state) state.SetIterationTime(0);
  state.SetLabel("skipped: " + why);
}

inline crew crew_of(const shape& s) { return {s.channels, s.alone ? 1 : s.warps, s.alone}; }

inline plan plan_of(const shape& s) {
  return {.volume_blocks = s.on.volume_blocks, .blocks = s.blocks(), .random = s.random ? 1u : 0u};
}

/// Rounds in which the lanes move about `bytes`.
inline std::uint32_t rounds_for(const shape& s, std::uint64_t bytes) {
  const std::uint64_t rounds = bytes / (std::uint64_t{crew_of(s).lanes()} * s.bytes);
  return rounds == 0 ? 1 : static_cast<std::uint32_t>(rounds);
}

/// Bytes that take some twenty milliseconds or more: over the link, or through few channels.
inline std::uint64_t enough_reads(const shape& s) {
  const std::uint64_t a_channel = (s.blocks() == 1 ? 128ull : 512ull) << 20;
  const std::uint64_t most = (s.on.in_host_memory() ? 1ull : 4ull) << 30;
  return std::min(most, a_channel * s.channels);
}

/// Makes `p` the plan of timed reads, after a first run that compares every word. False if a word
/// was wrong.
/// @param run `run(p)` is 0 if an operation failed or a byte was wrong
template <class Run>
bool reads_right(const shape& s, plan& p, const Run& run) {
  p = plan_of(s);
  p.rounds = 4;
  p.whole = 1;
  if (run(p) == 0) return false;
  p.whole = 0;
  p.rounds = rounds_for(s, enough_reads(s));
  return true;
}

inline void report_rates(benchmark::State& state, const shape& s,
                         const std::vector<double>& rates) {
  state.counters["MIOPS"] = median(rates) / s.bytes / 1e6;
  state.counters["GB_per_s"] = median(rates) / 1e9;
}

/// Next to a limit of the link, where there is one.
inline void report(benchmark::State& state, const shape& s, const compared& c) {
  report_rates(state, s, c.ours);
  if (s.on.media != "host") return;
  state.counters["link_ratio"] = c.ratio();
  state.counters["limit_GB_per_s"] = median(c.others) / 1e9;
}

}  // namespace gnstor::benchmarks

#pragma once
/// What benchmarks with a clock of their own have in common: their names, sizes and reports.

#include "statistics.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace gnstor::benchmarks {

/// A number from the environment, for runs of another size than the default.
inline std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Registers a benchmark that runs once, has its own rounds, and says itself how long it took; what
/// it throws is reported as its error.
inline void add_benchmark(const std::string& name, std::function<void(benchmark::State&)> run) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) {
                                 try {
                                   run(state);
                                 } catch (const std::exception& e) {
                                   state.SkipWithError(e.what());
                                 }
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

/// Reports the median of the rounds' seconds as the benchmark's time.
inline void report_median(benchmark::State& state, const std::vector<double>& seconds) {
  for (auto _ : state) state.SetIterationTime(median(seconds));
}
/// The same, and at what rate `bytes` were moved.
inline void report_rate(benchmark::State& state, const std::vector<double>& seconds,
                        std::uint64_t bytes) {
  report_median(state, seconds);
  state.counters["GB_per_s"] = static_cast<double>(bytes) / median(seconds) / 1e9;
}

}  // namespace gnstor::benchmarks

#pragma once
/// Programs whose arrays get fewer and fewer frames, beside the least that any policy could move.

#include "dense_programs.cuh"
#include "graph_programs.cuh"
#include "page_traces.cuh"
#include "pass_over.cuh"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gnstor::benchmarks {

/// Data per frames in the sweep.
inline constexpr std::array<double, 6> data_per_frames{1, 1.25, 1.5, 2, 4, 8};

/// A program that is swept.
struct swept_program {
  /// A cold run on arrays whose frames hold a share of the data; verified.
  std::function<run_figures(double share)> run;
  /// A run with everything in device memory, recorded; verified.
  std::function<std::vector<page_trace>()> record;
};

/// The recording of an array in the sweep.
template <class T>
trace_recording<T> recording_of(peer_data<T>& data) {
  return {data, page_bytes(), frames_for(data.bytes(), page_bytes(), 1 / data_per_frames.back())};
}

/// What was recorded of the program that is swept now.
inline const std::vector<page_trace>& traces_of(const std::string& name,
                                                const swept_program& program) {
  static std::string of;
  static std::vector<page_trace> traces;
  if (of != name) {
    traces = program.record();
    of = name;
  }
  return traces;
}

/// Runs a program with frames for 1 / `ratio` of the data, in turns with frames for all of it.
inline void sweep(benchmark::State& state, const std::string& name, const swept_program& program,
                  double ratio) {
  double optimal = 0;
  for (const page_trace& t : traces_of(name, program))
    optimal += static_cast<double>(t.optimal_bytes(page_bytes(), 1 / ratio));
  compared to_optimum, slowdown;
  std::vector<double> seconds, moved, link;
  for (std::uint64_t k = 0; k < round_count(); ++k) {
    const run_figures all = program.run(1), f = program.run(1 / ratio);
    link.push_back(link_rate());
    seconds.push_back(f.seconds);
    moved.push_back(static_cast<double>(f.bytes_moved));
    to_optimum.add(f.seconds, optimal / link.back());
    slowdown.add(f.seconds, all.seconds);
  }
  report_median(state, seconds);
  state.counters["pressure"] = ratio - 1;
  state.counters["slowdown"] = slowdown.ratio();
  state.counters["GB_moved"] = median(moved) / 1e9;
  state.counters["optimal_GB"] = optimal / 1e9;
  state.counters["moved_per_optimal"] = median(moved) / optimal;
  state.counters["link_GB_per_s"] = median(link) / 1e9;
  state.counters["optimal_ms"] = optimal / median(link) * 1e3;
  state.counters["time_per_optimal"] = to_optimum.ratio();
}

/// A search of a graph from one source.
/// @tparam Verified `verified_bfs` or `verified_sssp`
template <class Verified>
void sweep_search(benchmark::State& state, bool uniform, double ratio) {
  peer_graph& g = graph_of(uniform);
  Verified program(g);
  constexpr bool weighted = Verified::weighted;
  const auto search = [&](const auto& view) { return program.search(g.source(0), view); };
  const auto record = [&] {
    const auto offsets = recording_of(g.offsets());
    const auto neighbours = recording_of(g.neighbours()), chunks = recording_of(g.chunks());
    const auto weights = recording_of(weighted ? g.weights() : g.chunks());
    (void)search_graph<weighted>(search, g, offsets.view(),
                                 std::array{neighbours.view(), weights.view(), chunks.view()});
    std::vector<page_trace> all{offsets.finish(), neighbours.finish(), chunks.finish()};
    if (weighted) all.push_back(weights.finish());
    return all;
  };
  const std::string name = std::string(weighted ? "sssp" : "bfs") + (uniform ? "/u" : "/k");
  sweep(state, name,
        {[&](double share) { return run_on_arrays<weighted>(g, search, share); }, record}, ratio);
}

inline void sweep_mvt(benchmark::State& state, double ratio) {
  matrix_product product(dense::product::mvt);
  const auto record = [&] {
    const auto matrix = recording_of(product.data());
    (void)product.run(matrix.view());
    return std::vector{matrix.finish()};
  };
  sweep(state, "mvt", {[&](double share) { return product.run_on_array(share); }, record}, ratio);
}

/// Passes over a vector, each against the order of the one before.
inline void sweep_sum(benchmark::State& state, std::uint32_t passes, double ratio) {
  auto& words = streamed_words::get();
  const auto record = [&] {
    const auto vector = recording_of(words.data());
    (void)words.pass(vector.view(), passes);
    return std::vector{vector.finish()};
  };
  sweep(state, "sum" + std::to_string(passes),
        {[&](double share) { return words.pass_over_array(share, passes); }, record}, ratio);
}

}  // namespace gnstor::benchmarks

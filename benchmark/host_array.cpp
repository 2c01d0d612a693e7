// What kernel code costs in the host SIMT runtime: element accesses that hit, and pages that come
// in from the array. The figure to compare with is a plain loop over memory, measured in the same
// run.
#include <gnstor/host/array.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <vector>

namespace host = gnstor::host;

namespace {

constexpr std::uint64_t elements = 1 << 18;

struct sum_elements {
  template <class Lane>
  void operator()(Lane& lane, gnstor::remote_array<std::uint32_t> view, std::uint64_t* sum) const {
    std::uint64_t mine = 0;
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads())
      mine += view[i];
    gnstor::device_word<std::uint64_t>(*sum).fetch_add(mine, gnstor::relaxed);
  }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// `frames_in_4` quarters of the data fit the frames: 4 measures hits, 1 measures faults.
void host_array(benchmark::State& state, std::uint64_t frames_in_4) {
  host::session session("emu:?capacity=64M");
  const auto volume = session.create_volume({.bytes = elements * 4});
  std::vector<std::uint32_t> data(elements);
  std::uint64_t right = 0;
  for (std::uint64_t k = 0; k < elements; ++k) right += data[k] = static_cast<std::uint32_t>(k * 7);
  session.write(volume, 0, data.data(), elements * 4);
  host::array<std::uint32_t> array(session, volume, elements,
                                   {.frame_bytes = elements * frames_in_4, .page_bytes = 4096});
  double remote = 0;
  double local = 0;
  for (auto _ : state) {
    std::uint64_t sum = 0;
    host::executor run;
    run.spawn(1, 32, sum_elements{}, array.view(), &sum);
    const auto start = std::chrono::steady_clock::now();
    run.run();
    const double took = seconds_since(start);
    remote += took;
    state.SetIterationTime(took);
    const auto again = std::chrono::steady_clock::now();
    std::uint64_t plain = 0;
    for (const std::uint32_t x : data) benchmark::DoNotOptimize(plain += x);
    local += seconds_since(again);
    if (sum != right || plain != right) {
      state.SkipWithError("wrong sum");
      return;
    }
  }
  state.counters["accesses_per_s"] =
      benchmark::Counter(double(elements) * double(state.iterations()) / remote);
  state.counters["times_a_plain_loop"] = remote / local;
  state.counters["pages_in"] = double(array.counters().pages_in);
}

BENCHMARK_CAPTURE(host_array, hits, 4)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(host_array, faults, 1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace

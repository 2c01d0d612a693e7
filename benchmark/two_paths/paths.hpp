#pragma once
/// What a session reads by one emulated NIC and by two, each paced at a rate: the same program for
/// kernels on a GPU, in its time, and in virtual time of the host runtime.
///
/// `volume`: lanes read blocks of a volume, drawn at random. `array`: warps add up an array that is
/// eight times its frames. `one` and `two` are bytes per second; `times_one` is the median of the
/// rounds' ratios, in which both took turns, and `of_rate` what two NICs moved of what they may. A
/// block's first and last words are compared, and every sum.

#include "../support/statistics.hpp"
#include <gnstor/core/hash.hpp>
#include <gnstor/host/array.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/lane.hpp>

#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace gnstor::benchmarks {

/// What is measured, where.
struct two_paths_plan {
  std::string node;          ///< of the endpoint: who runs the array, and where
  std::string rate;          ///< of each NIC, as `nic_rate=` has it
  std::uint64_t rate_bytes;  ///< the same as a number
  std::uint32_t blocks;      ///< of the volume, a power of two
  std::uint32_t groups;      ///< blocks of threads
  std::uint32_t threads;     ///< of each
  std::uint32_t reads;       ///< per lane
  std::uint32_t stride;      ///< elements from one to the next that is added up, a power of two
  int rounds;
};

/// What lanes of a run found.
struct two_paths_outcome {
  std::uint32_t failed = 0;
  std::uint32_t wrong = 0;
  std::uint64_t sum = 0;
  std::uint64_t not_begin_ns = 0;  ///< of the first lane, its complement: a maximum, too
  std::uint64_t end_ns = 0;        ///< of the last

  GNSTOR_HD void began() {
    device_word<std::uint64_t>(not_begin_ns).fetch_max(~simt::now_ns(), relaxed);
  }
  GNSTOR_HD void ended() { device_word<std::uint64_t>(end_ns).fetch_max(simt::now_ns(), relaxed); }
};

/// Lanes that read blocks drawn at random, each into a page of its own.
struct read_drawn_blocks {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume volume, io_buffer pages, std::uint32_t blocks,
                            std::uint32_t reads, two_paths_outcome* outcome) const {
    outcome->began();
    const std::uint32_t me = lane.global_thread();
    const io_buffer page = pages.slice(std::uint64_t{me} * block_bytes, block_bytes);
    const auto* words = reinterpret_cast<const std::uint32_t*>(page.address);
    for (std::uint32_t k = 0; k < reads; ++k) {
      const auto at = static_cast<std::uint32_t>(mix64(std::uint64_t{k} << 32 | me)) & (blocks - 1);
      const status s = volume.read(vba(at), 1, page, simt::within(60'000'000'000));
      const bool right = words[0] == at && words[block_bytes / 4 - 1] == at;
      if (!s.ok()) device_word<std::uint32_t>(outcome->failed).fetch_add(1, relaxed);
      if (s.ok() && !right) device_word<std::uint32_t>(outcome->wrong).fetch_add(1, relaxed);
    }
    outcome->ended();
  }
};

/// Warps that add up an array, each page by page of its own: were they all to go through the same
/// pages together, there would be no more in flight than their lanes cover, a dozen.
struct sum_array {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_array<std::uint32_t> view, std::uint32_t stride,
                            two_paths_outcome* outcome) const {
    constexpr std::uint32_t each = block_bytes / 4;  // elements of a page
    outcome->began();
    std::uint64_t mine = 0;
    const std::uint32_t width = lane.block_threads() < 32 ? lane.block_threads() : 32;
    const std::uint32_t me = lane.global_thread() % width;
    for (std::uint64_t page = lane.global_thread() / width; page < view.size() / each;
         page += lane.grid_threads() / width) {
      for (std::uint32_t k = me * stride; k < each; k += width * stride)
        mine += view[page * each + k];
    }
    device_word<std::uint64_t>(outcome->sum).fetch_add(mine, relaxed);
    outcome->ended();
  }
};

/// A session by `nics` paths, and a filled volume: every word of a block is its number.
class two_paths_rig {
 public:
  two_paths_rig(const two_paths_plan& p, std::uint32_t nics)
      : plan_(p),
        session_("emu:?" + p.node + "&ssds=4&replicas=1&nics=" + std::to_string(nics) +
                     "&nic_rate=" + p.rate,
                 {.channels = 16}),
        volume_(session_.create_volume({.bytes = std::uint64_t{p.blocks} * block_bytes})),
        pages_(session_, std::uint64_t{p.groups} * p.threads * block_bytes),
        outcome_(session_.allocate(sizeof(two_paths_outcome))) {
    std::vector<std::uint32_t> data(std::size_t{p.blocks} * (block_bytes / 4));
    for (std::size_t k = 0; k < data.size(); ++k)
      data[k] = static_cast<std::uint32_t>(k / (block_bytes / 4));
    session_.write(volume_, 0, data.data(), 4 * data.size());
  }

  /// Bytes per second.
  double by_volume() {
    const double seconds = timed(read_drawn_blocks{}, session_.ref(volume_), pages_.buffer(),
                                 plan_.blocks, plan_.reads);
    return double(plan_.groups) * plan_.threads * plan_.reads * block_bytes / seconds;
  }
  double by_array() {
    const std::uint64_t elements = std::uint64_t{plan_.blocks} * (block_bytes / 4);
    host::array<std::uint32_t> array(session_, volume_, elements,
                                     {.frame_bytes = elements * 4 / 8, .page_bytes = block_bytes});
    const double seconds = timed(sum_array{}, array.view(), plan_.stride);
    const std::uint64_t right =
        std::uint64_t{plan_.blocks} * (plan_.blocks - 1) / 2 * (block_bytes / 4 / plan_.stride);
    if (seen_.sum != right) throw std::runtime_error("wrong sum");
    return double(array.counters().pages_in) * block_bytes / seconds;
  }

 private:
  template <class Kernel, class... Args>
  double timed(const Kernel& kernel, const Args&... args) {
    seen_ = {};
    outcome_.write(0, &seen_, sizeof seen_);
    auto* outcome = static_cast<two_paths_outcome*>(outcome_.data());
#if defined(__CUDACC__)
    host::executor run;
#else
    host::executor run({.run = simt::host::mode::seeded, .seed = 1, .step_budget = 4'000'000'000});
#endif
    run.spawn(plan_.groups, plan_.threads, kernel, args..., outcome);
    session_.attach(run);
    run.run();
    outcome_.read(0, &seen_, sizeof seen_);
    if (seen_.failed != 0 || seen_.wrong != 0) throw std::runtime_error("a read failed");
    return double(seen_.end_ns - ~seen_.not_begin_ns) * 1e-9;
  }

  two_paths_plan plan_;
  host::session session_;
  volume_info volume_;
  host::registered_memory pages_;
  host::memory_block outcome_;
  two_paths_outcome seen_;
};

inline void two_paths(benchmark::State& state, const two_paths_plan& p,
                      double (two_paths_rig::*measure)()) {
  compared rates;
  for (auto _ : state) {
    try {
      for (int k = 0; k < p.rounds; ++k) {
        const double one = (two_paths_rig(p, 1).*measure)();
        const double two = (two_paths_rig(p, 2).*measure)();
        rates.add(two, one);
      }
    } catch (const std::exception& e) {
      state.SkipWithError(e.what());
      return;
    }
  }
  state.counters["one"] = median(rates.others);
  state.counters["two"] = median(rates.ours);
  state.counters["times_one"] = rates.ratio();
  state.counters["of_rate"] = median(rates.ours) / (2.0 * double(p.rate_bytes));
}

inline void add_two_paths(const two_paths_plan& p) {
  const auto add = [&](const char* name, double (two_paths_rig::*measure)()) {
    benchmark::RegisterBenchmark(name,
                                 [p, measure](benchmark::State& s) { two_paths(s, p, measure); })
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  };
  add("two_paths/volume", &two_paths_rig::by_volume);
  add("two_paths/array", &two_paths_rig::by_array);
}

}  // namespace gnstor::benchmarks

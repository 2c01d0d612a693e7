// What it costs to register memory for each I/O, over real verbs: reads through the proxy into a
// buffer that is registered once, into one that is registered and deregistered each time, and the
// registration alone, in turn. Every byte is compared.
//
// Needs an RDMA device: GNSTOR_BENCH_ENDPOINT names a subsystem with a namespace that may be
// overwritten, "rdma://10.1.0.1/nqn.example:disk?scratch=yes". `scripts/bench_in_guest` runs it
// with soft-RoCE in an emulated guest, where all three times are the emulator's: only their ratios
// mean anything, and little.
#include "baselines/registered_per_io.hpp"

#include "support/pattern.hpp"
#include "support/statistics.hpp"
#include <gnstor/simt/clock.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace host = gnstor::host;

namespace {

using gnstor::benchmarks::block_words;
using gnstor::benchmarks::median;
using gnstor::benchmarks::pattern;

constexpr std::uint32_t volume_blocks = 4096;
constexpr std::uint32_t rounds = 64;  ///< whose median counts
constexpr std::uint64_t timeout_ns = 10'000'000'000;

/// Nanoseconds of `work`.
template <class Work>
double timed(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

/// A session, its filled volume, and memory for one operation.
struct rig {
  explicit rig(const char* endpoint)
      : session(endpoint, {.client = host::machine::cpu, .channels = 1}),
        volume(
            session.create_volume({.bytes = std::uint64_t{volume_blocks} * gnstor::block_bytes})),
        memory(session.allocate(1 << 20)) {
    std::vector<std::uint64_t> words(std::size_t{volume_blocks} * block_words);
    for (std::size_t w = 0; w < words.size(); ++w)
      words[w] = pattern(w / block_words, w % block_words, 0);
    session.write(volume, 0, words.data(), words.size() * 8);
  }
  static rig& get(const char* endpoint) {
    static rig one(endpoint);
    return one;
  }
  bool holds(gnstor::vba first, std::uint32_t blocks) const {
    const auto* words = static_cast<const std::uint64_t*>(memory.data());
    for (std::uint32_t w = 0; w < blocks * block_words; ++w) {
      if (words[w] != pattern(first.value + w / block_words, w % block_words, 0)) return false;
    }
    return true;
  }
  void clear() const { std::memset(memory.data(), 0, memory.bytes()); }

  host::session session;
  gnstor::volume_info volume;
  host::memory_block memory;
};

void registered_per_io(benchmark::State& state) {
  const char* endpoint = std::getenv("GNSTOR_BENCH_ENDPOINT");
  if (endpoint == nullptr) {
    for (auto _ : state) state.SetIterationTime(0);
    return state.SetLabel("skipped: GNSTOR_BENCH_ENDPOINT names no rdma:// endpoint");
  }
  rig& r = rig::get(endpoint);
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  const auto blocks = static_cast<std::uint32_t>(bytes / gnstor::block_bytes);
  const gnstor::baseline::registered_per_io each(r.session, r.volume);
  const gnstor::remote_volume volume = r.session.ref(r.volume);
  const gnstor::io_buffer whole = r.session.register_memory(r.memory.data(), bytes);
  gnstor::benchmarks::compared per_io;
  std::vector<double> registrations;
  bool right = true;
  for (auto _ : state) {
    std::vector<double> once, every, alone;
    for (std::uint32_t k = 0; k < rounds; ++k) {
      const gnstor::vba first((k * blocks) % volume_blocks);
      r.clear();
      once.push_back(timed([&] {
        right = right && volume.read(first, blocks, whole, gnstor::simt::within(timeout_ns)).ok();
      }));
      right = right && r.holds(first, blocks);
      r.clear();
      every.push_back(timed([&] {
        right = right &&
                each.read(first, blocks, r.memory.data(), gnstor::simt::within(timeout_ns)).ok();
      }));
      right = right && r.holds(first, blocks);
      alone.push_back(timed(
          [&] { r.session.unregister_memory(r.session.register_memory(r.memory.data(), bytes)); }));
    }
    per_io.add(median(every), median(once));
    registrations.push_back(median(alone));
    state.SetIterationTime(median(every) * rounds * 1e-9);
  }
  r.session.unregister_memory(whole);
  if (!right) return state.SkipWithError("wrong bytes or failed operations");
  state.counters["io_ns"] = median(per_io.others);
  state.counters["registered_per_io_ns"] = median(per_io.ours);
  state.counters["registration_ns"] = median(registrations);
  state.counters["times"] = per_io.ratio();
}

BENCHMARK(registered_per_io)
    ->Arg(4096)
    ->Arg(65536)
    ->Arg(1 << 20)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

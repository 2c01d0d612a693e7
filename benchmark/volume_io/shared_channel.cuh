#pragma once
/// N threads on one channel, and the same threads, in turn, on one behind locks over the same queue
/// pair.

#include "../baselines/lock_channel.hpp"
#include "family.cuh"

namespace gnstor::benchmarks {

using locked_channel = baseline::lock_channel<
    mlx5_queue_pair<thread_scope_system, baseline::under_lock, capsule::in_entry>>;
using locked_volume = volume_ref<locked_channel>;

/// The only channel of a session behind locks; nobody else may use it meanwhile.
class locked_stand_in {
 public:
  explicit locked_stand_in(const remote_channel* ours)
      : locks_(host::place::device, locked_channel::bytes(mlx5_max_depth)),
        channel_(host::place::device, sizeof(locked_channel)) {
    alignas(remote_channel) unsigned char bytes[sizeof(remote_channel)];
    copy(bytes, ours, sizeof bytes);
    const auto* nic = reinterpret_cast<const remote_channel*>(bytes)->queue().nic();
    const locked_channel one(nic->with<baseline::under_lock>(), locks_.data());
    const auto ready = static_cast<std::uint32_t>(channel_phase::ready);
    copy(&one.counters().phase, &ready, sizeof ready);
    channel_.write(0, &one, sizeof one);
  }
  channel_set<locked_channel> channels() const {
    return {static_cast<const locked_channel*>(channel_.data()), 1};
  }

 private:
  static void copy(void* to, const void* from, std::size_t bytes) {
    const cudaStream_t stream = hardware::get().stream();
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "channel");
    cuda_check(cudaStreamSynchronize(stream), "channel");
  }

  host::memory_block locks_;
  host::memory_block channel_;
};

inline grid threads_of_one_channel(std::uint32_t threads) {
  return {.blocks = (threads + 127) / 128, .threads = std::min(threads, 128u)};
}

inline double run_shared(const rig& r, const plan& p, std::uint32_t threads) {
  return r.rate(move_blocks{}, r.over(r.volume(), 0, 1), p, threads_of_one_channel(threads));
}
inline double run_locked(const rig& r, const plan& p, std::uint32_t threads) {
  const locked_stand_in behind_locks(r.channels());
  const locked_volume volume(r.volume(), behind_locks.channels(),
                             rendezvous_placement(r.volume().ssd_count));
  return r.rate(move_blocks{}, volume, p, threads_of_one_channel(threads));
}

inline constexpr std::uint32_t shared_threads[] = {32, 256, 1024, 4096};

/// Random 4 KiB reads by `32 * s.warps` threads: against the best number of threads (`of_best`),
/// and against the locks (`against_locked`).
inline void shared_channel(benchmark::State& state, const shape& s) {
  constexpr std::uint32_t ours = 128 * 1024;
  constexpr std::uint32_t theirs = 16 * 1024;
  const rig& r = rig::of(s.on);
  const std::uint32_t threads = 32 * s.warps;
  plan p = plan_of(s);
  p.rounds = 2;
  p.whole = 1;
  if (run_shared(r, p, threads) == 0 || run_locked(r, p, threads) == 0) return fails(state);
  p.whole = 0;
  std::vector<double> rates, of_best, against_locked;
  for (auto _ : state) {
    double best = 0;
    for (const std::uint32_t n : shared_threads) {
      p.rounds = ours / n;
      const double rate = run_shared(r, p, n);
      if (rate == 0) return fails(state);
      best = std::max(best, rate);
      if (n == threads) rates.push_back(rate);
    }
    p.rounds = theirs / threads;
    const double locked = run_locked(r, p, threads);
    if (locked == 0) return fails(state);
    of_best.push_back(rates.back() / best);
    against_locked.push_back(rates.back() / locked);
    state.SetIterationTime(1.0 * ours * block_bytes / rates.back());
  }
  state.counters["of_best"] = median(of_best);
  state.counters["against_locked"] = median(against_locked);
  state.counters["MIOPS"] = median(rates) / block_bytes / 1e6;
}

}  // namespace gnstor::benchmarks

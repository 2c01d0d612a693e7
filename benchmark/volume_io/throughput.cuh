#pragma once
/// Reads, writes and both at once, next to what the link allows.

#include "../support/greedy_amplification.hpp"
#include "family.cuh"
#include "written_slots.cuh"

namespace gnstor::benchmarks {

/// Runs what `run()` gives the rate of, `p.rounds` operations per lane, in turn with the load
/// limit; one warp alone also in turn with a bare ring that takes as many requests at once.
template <class Run>
void against_loads(benchmark::State& state, const shape& s, const plan& p, const Run& run) {
  const double bytes = 1.0 * crew_of(s).lanes() * p.rounds * s.bytes;
  const bool host = s.on.in_host_memory();
  const bool one_warp = s.alone && s.channels == 1 && s.blocks() == 1;
  compared rates;
  compared rings;
  for (auto _ : state) {
    const double limit = host ? hardware::get().load_limit() : 1;
    const double ring = one_warp ? hardware::get().batch_rate(host) * block_bytes : 1;
    const double rate = run();
    if (rate == 0 || ring == 0) return fails(state);
    rates.add(rate, limit);
    rings.add(rate, ring);
    state.SetIterationTime(bytes / rate);
  }
  report(state, s, rates);
  if (!one_warp) return;
  state.counters["batch_ring_ratio"] = rings.ratio();
  state.counters["batch_ring_MIOPS"] = median(rings.others) / block_bytes / 1e6;
}

/// Reads a filled volume: first with every word compared, then timed.
inline void read(benchmark::State& state, const shape& s) {
  const rig& r = rig::of(s.on);
  plan p;
  const auto run = [&](const plan& one) { return r.run(r.volume(), one, crew_of(s)); };
  if (!reads_right(s, p, run)) return fails(state);
  against_loads(state, s, p, [&] { return run(p); });
}

/// Writes a new volume once, reads every block back, and deletes it: on a fresh drive, large enough
/// that no flash is written twice. The limit counts every replica.
inline void write(benchmark::State& state, const shape& s) {
  rig& r = rig::of(s.on, true);
  plan p = plan_of(s);
  p.write_percent = 100;
  p.generation = 1;
  p.rounds = p.slots() / crew_of(s).lanes();
  compared rates;
  for (auto _ : state) {
    const volume_info v = r.create(p.volume_blocks);
    const double limit = s.on.in_host_memory() ? hardware::get().store_limit() / s.on.replicas : 1;
    const double rate = r.run(v, p, crew_of(s));
    plan back = p;
    back.write_percent = 0;
    const bool right = rate != 0 && r.run(v, back, crew_of(s)) != 0;
    r.remove(v);
    if (!right) return fails(state);
    rates.add(rate, limit);
    state.SetIterationTime(1.0 * p.volume_blocks * block_bytes / rate);
  }
  report(state, s, rates);
}

/// Overwrites of blocks drawn at random on an array that is as full as `s.on` makes it, once every
/// block has been overwritten three times on average: what garbage collection leaves. Each pass
/// leaves another generation, and all blocks are read back: a write that was dropped shows. The
/// limit counts every replica and every page that greedy collection must move.
inline void overwrite(benchmark::State& state, const shape& s) {
  const rig& r = rig::of(s.on, true);
  plan p = plan_of(s);
  p.write_percent = 100;
  p.rounds = p.slots() / crew_of(s).lanes();
  const written_slots written(p);
  const auto pass = [&] {
    ++p.draw;
    ++p.generation;
    const double rate = r.run(r.volume(), p, crew_of(s));
    written.note(p, crew_of(s));
    return rate;
  };
  bool right = true;
  for (int settling = 0; settling < 3; ++settling) right = right && pass() != 0;
  const double needed = greedy_amplification(s.on.live_share(), 64 / s.blocks());
  compared rates;
  for (auto _ : state) {
    const bool host = s.on.in_host_memory();
    const double limit = host ? hardware::get().store_limit() / s.on.replicas / needed : 1;
    const double rate = pass();
    if (rate == 0 || !right) return fails(state);
    rates.add(rate, limit);
    state.SetIterationTime(1.0 * crew_of(s).lanes() * p.rounds * s.bytes / rate);
  }
  plan back = plan_of(s);
  back.rounds = p.rounds;
  back.generations = written.data();
  if (r.run(r.volume(), back, crew_of(s)) == 0) return fails(state);
  report(state, s, rates);
  state.counters["live_share"] = s.on.live_share();
  state.counters["greedy_pages"] = needed;
}

/// 70 % reads of one volume, 30 % writes; every slot once per pass. A pass reads what the ones
/// before it left and writes another generation, and all blocks are read back whole in the end.
inline void mixed(benchmark::State& state, const shape& s) {
  rig& r = rig::of(s.on);
  plan p = plan_of(s);
  p.rounds = p.slots() / crew_of(s).lanes();
  const volume_info v = r.create_filled();
  const written_slots written(p);
  p.generations = written.data();
  p.write_percent = 30;
  against_loads(state, s, p, [&] {
    ++p.generation;
    const double rate = r.run(v, p, crew_of(s));
    written.note(p, crew_of(s));
    return rate;
  });
  p.write_percent = 0;
  p.whole = 1;
  const bool right = r.run(v, p, crew_of(s)) != 0;
  r.remove(v);
  if (!right) fails(state);
}

/// "alone/read/host/rand/4096/channels:8", "read/host/rand/4096/channels:8/warps:4".
inline std::string named(const std::string& operation, const shape& s) {
  return (s.alone ? "alone/" : "") + operation + "/" + s.where() + s.crew_name();
}

}  // namespace gnstor::benchmarks

#pragma once

#include "family.cuh"

namespace gnstor::benchmarks {

/// One operation at a time by each of `s.channels` clients, next to a bare request ring of one
/// client that moves the same pages the same way.
/// What was read is compared after the clock has stopped, every word. A write's ring stores every
/// replica, one after another.
inline void latency(benchmark::State& state, const shape& s) {
  rig& r = rig::of(s.on);
  plan p = plan_of(s);
  p.rounds = s.writes ? (s.blocks() == 1 ? 2000 : 500) : (s.blocks() == 1 ? 4000 : 2000);
  p.write_percent = s.writes ? 100 : 0;
  p.whole = s.writes ? 0 : 1;
  const volume_info v = s.writes ? r.create(p.volume_blocks) : r.volume();
  const hardware::ring_shape ring{.host_media = s.on.in_host_memory(),
                                  .pages = s.blocks(),
                                  .scattered = s.random,
                                  .store = s.writes ? s.on.replicas : 0};
  compared times;
  for (auto _ : state) {
    const double ring_ns = hardware::get().ring_ns(ring);
    if (s.writes) ++p.generation;
    const double ns = r.latency_ns(v, p, s.channels);
    plan back = p;
    back.write_percent = 0;
    const bool right =
        ns != 0 && ring_ns != 0 && (!s.writes || r.latency_ns(v, back, s.channels) != 0);
    if (!right) {
      fails(state);
      break;
    }
    times.add(ns, ring_ns);
    state.SetIterationTime(ns * 1e-9);
  }
  if (s.writes) r.remove(v);
  state.counters["ring_ratio"] = times.ratio();
  state.counters["ring_ns"] = median(times.others);
  state.counters["ns"] = median(times.ours);
  if (s.channels != 1) state.counters["MIOPS"] = s.channels * 1e3 / median(times.ours);
}

}  // namespace gnstor::benchmarks

// An array whose node and flash are on a second GPU, next to a bare request ring between the same
// two GPUs: reads over shared channels, by warps with a channel of their own (`alone`), and one at
// a time (`latency`).
//
// `peer_ring_ratio` is to the fastest of several such rings of up to 64 channels (its form is the
// label), measured in turn with the reads, that is with the node's kernels beside it on the second
// GPU; `fenced_ring_ratio` to one whose lanes all fence before they tell of a page, as the probe
// did that set the target; `ring_undisturbed_MIOPS` is the fastest before there was an array, and
// `wide_ring_MIOPS` that of 128 channels, which keep twice as much in flight. Pages of the ring are
// all compared in a first run, those of the last batch of each channel in the timed ones. On a
// machine without a second GPU these benchmarks have no figures, and a label that says so.
#include "support/peer_ring.cuh"
#include "volume_io/throughput.cuh"

namespace {

using namespace gnstor::benchmarks;

void peer_reads(benchmark::State& state, const shape& s) {
  const std::string lacks = peer_ring::missing();
  if (!lacks.empty()) return skips(state, lacks);
  peer_ring& ring = peer_ring::get();
  const rig& r = rig::of(s.on);
  plan p;
  const auto run = [&](const plan& one) { return r.run(r.volume(), one, crew_of(s)); };
  if (!reads_right(s, p, run)) return fails(state);
  compared rates;
  compared fenced;
  for (auto _ : state) {
    const double bare = ring.rate(ring.fastest()) * gnstor::block_bytes;
    const double slow = ring.rate(ring.fenced()) * gnstor::block_bytes;
    const double rate = r.run(r.volume(), p, crew_of(s));
    if (rate == 0 || bare == 0 || slow == 0) return fails(state);
    rates.add(rate, bare);
    fenced.add(rate, slow);
    state.SetIterationTime(1.0 * crew_of(s).lanes() * p.rounds * s.bytes / rate);
  }
  report_rates(state, s, rates.ours);
  state.counters["peer_ring_ratio"] = rates.ratio();
  state.counters["ring_MIOPS"] = median(rates.others) / gnstor::block_bytes / 1e6;
  state.counters["fenced_ring_ratio"] = fenced.ratio();
  state.counters["fenced_ring_MIOPS"] = median(fenced.others) / gnstor::block_bytes / 1e6;
  state.counters["ring_undisturbed_MIOPS"] = ring.undisturbed() / 1e6;
  state.counters["wide_ring_MIOPS"] = ring.undisturbed_wide() / 1e6;
  state.SetLabel("ring: " + ring.fastest().name());
}

void peer_latency(benchmark::State& state, const shape& s) {
  const std::string lacks = peer_ring::missing();
  if (!lacks.empty()) return skips(state, lacks);
  peer_ring& ring = peer_ring::get();
  const rig& r = rig::of(s.on);
  plan p = plan_of(s);
  p.rounds = 2000;
  p.whole = 1;
  compared times;
  for (auto _ : state) {
    const double pages = ring.rate(ring.quickest());
    const double ns = r.latency_ns(r.volume(), p);
    if (ns == 0 || pages == 0) return fails(state);
    times.add(ns, 1e9 / pages);
    state.SetIterationTime(ns * 1e-9);
  }
  state.counters["ring_ratio"] = times.ratio();
  state.counters["ring_ns"] = median(times.others);
  state.counters["ns"] = median(times.ours);
  state.SetLabel("ring: " + ring.quickest().name());
}

const bool registered = [] {
  shape s;
  s.on.media = "peer";
  for (const std::uint32_t channels : {32u, 64u}) {
    s.on.channels = s.channels = channels;
    s.bytes = 4096;
    s.alone = true;
    add(named("read", s), peer_reads, s, 5);
    s.alone = false;
    for (const std::uint32_t bytes : {4096u, 65536u}) {
      s.bytes = bytes;
      add(named("read", s), peer_reads, s, 5);
    }
  }
  s.bytes = 4096;
  add("latency/read/" + s.where(), peer_latency, s, 5);
  return true;
}();

}  // namespace

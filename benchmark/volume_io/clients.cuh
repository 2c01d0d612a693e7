#pragma once
/// Clients that share an array and nothing else.

#include "family.cuh"

namespace gnstor::benchmarks {

/// Volumes for clients, each over a channel of its own; in GPU memory.
class client_volumes {
 public:
  client_volumes(const rig& r, const std::vector<volume_info>& volumes)
      : memory_(host::place::device, volumes.size() * sizeof(remote_volume)) {
    for (std::uint32_t k = 0; k < volumes.size(); ++k) {
      const remote_volume one = r.over(volumes[k], k, 1);
      memory_.write(k * sizeof one, &one, sizeof one);
    }
  }
  const remote_volume* data() const { return static_cast<const remote_volume*>(memory_.data()); }

 private:
  host::memory_block memory_;
};

inline double run_clients(const rig& r, const client_volumes& v, const plan& p, const grid& g) {
  return r.rate(move_blocks_of_clients{}, v.data(), p, g);
}

/// `s.channels` clients, each a block with a volume and a channel, next to one alone: `of_one` is
/// the share of that many times the rate of one.
inline void report_clients(benchmark::State& state, const shape& s, const compared& c) {
  report_rates(state, s, c.ours);
  state.counters["one_MIOPS"] = median(c.others) / s.bytes / 1e6;
  state.counters["of_one"] = c.ratio() / s.channels;
}

/// Reads of filled volumes: whole in a first run, then by the first and last word of each block.
inline void client_reads(benchmark::State& state, const shape& s) {
  const rig& r = rig::of(s.on);
  const client_volumes volumes(r, r.volumes());
  const grid all{s.channels, 32 * s.warps};
  plan p;
  const auto run = [&](const plan& one) { return run_clients(r, volumes, one, all); };
  if (!reads_right(s, p, run)) return fails(state);
  compared rates;
  for (auto _ : state) {
    const double one = run_clients(r, volumes, p, {1, all.threads});
    const double rate = run_clients(r, volumes, p, all);
    if (one == 0 || rate == 0) return fails(state);
    rates.add(rate, one);
    state.SetIterationTime(1.0 * crew_of(s).lanes() * p.rounds * s.bytes / rate);
  }
  report_clients(state, s, rates);
}

/// Every client writes a new volume once; all blocks are read back, and the volumes deleted.
inline void client_writes(benchmark::State& state, const shape& s) {
  rig& r = rig::of(s.on);
  plan p = plan_of(s);
  p.volume_blocks = s.on.volume_blocks / 4;
  p.generation = 1;
  p.rounds = p.slots() / (32 * s.warps);
  const auto written_once = [&](std::uint32_t clients) {
    std::vector<volume_info> infos;
    for (std::uint32_t k = 0; k < clients; ++k) infos.push_back(r.create(p.volume_blocks));
    const client_volumes volumes(r, infos);
    const grid all{clients, 32 * s.warps};
    p.write_percent = 100;
    const double rate = run_clients(r, volumes, p, all);
    p.write_percent = 0;
    const bool right = rate != 0 && run_clients(r, volumes, p, all) != 0;
    for (const volume_info& v : infos) r.remove(v);
    return right ? rate : 0;
  };
  compared rates;
  for (auto _ : state) {
    const double one = written_once(1);
    const double rate = written_once(s.channels);
    if (one == 0 || rate == 0) return fails(state);
    rates.add(rate, one);
    state.SetIterationTime(1.0 * s.channels * p.volume_blocks * block_bytes / rate);
  }
  report_clients(state, s, rates);
}

}  // namespace gnstor::benchmarks

// Synchronised sends (gmblock) against store-and-forward and staging in host memory: what a target
// streams to one client, at the seed's rates and at those of GNStor's Table 2. Time is virtual, so
// figures are the same on every machine; each packet is compared with what flash holds when it
// leaves.
//
// `real/...`: the same through queue pair, NIC and firmware of an emulated array, in wall-clock
// time; blocks are compared with what was written. `of_model`: the model's time over what it took.
//
// `of_bound`, for one request at a time: the pipeline's bound (access, the first chunk, and the
// longer of reading and sending) over what it took. The five phases are the seed's, in us.
#include "support/streamed_reads.hpp"

#include <benchmark/benchmark.h>
#include <timing/stream_model.hpp>

#include <string>
#include <utility>

namespace {

using namespace gnstor::fw;

constexpr std::uint32_t mib = 1 << 20;

/// The five phases of a request, in microseconds.
template <class Phases>
void count_phases(benchmark::State& state, const Phases& p) {
  const std::pair<const char*, std::uint64_t> all[] = {{"init_us", p.init},
                                                       {"read_us", p.read},
                                                       {"send_init_us", p.send_init},
                                                       {"send_us", p.send},
                                                       {"fin_us", p.fin}};
  for (const auto& [name, took] : all) state.counters[name] = static_cast<double>(took) / 1e6;
}

void run(benchmark::State& state, const stream_profile& p) {
  const std::uint32_t requests = std::max(8u, 8 * p.outstanding);
  stream_result r;
  for (auto _ : state) {
    r = stream(p, requests);
    state.SetIterationTime(static_cast<double>(r.elapsed) / 1e12);
  }
  if (r.requests != requests || r.wrong_bytes != 0)
    return state.SkipWithError("bytes went out before they were valid");
  state.counters["MiB_per_s"] = r.mib_per_second(p.request_bytes);
  count_phases(state, r);
  if (p.outstanding == 1 && p.path == stream_path::synchronised) {
    std::uint64_t longest = 0;
    for (const std::uint64_t took : r.took) longest = std::max(longest, took);
    state.counters["of_bound"] =
        static_cast<double>(stream_bound(p)) / static_cast<double>(longest);
  }
}

const char* word(stream_path path) {
  switch (path) {
    case stream_path::staged: return "staged";
    case stream_path::store_and_forward: return "stored";
    case stream_path::synchronised: return "synchronised";
  }
  return "";
}

/// Wall-clock time of an array's NIC. Its threads want a core each.
void run_real(benchmark::State& state, const stream_profile& p, const std::string& source) {
  const std::uint32_t requests = std::max(64u, 16 * p.outstanding);
  gnstor::bench::streamed_reads array(
      std::string("timing=gmblock&max_transfer=1M&send=") + word(p.path) +
      "&send_chunk=" + std::to_string(p.chunk_bytes / 1024) + "K&source=" + source);
  const double model = static_cast<double>(stream(p, requests).elapsed) / 1e12;
  std::uint32_t wrong = 0;
  double took = 0;
  for (auto _ : state) {
    took = static_cast<double>(array.run(p.request_bytes, requests, p.outstanding, wrong)) / 1e9;
    state.SetIterationTime(took);
  }
  if (wrong != 0) return state.SkipWithError("a block is not what was written");
  state.counters["MiB_per_s"] = requests * double(p.request_bytes) / mib / took;
  state.counters["of_model"] = model / took;
  count_phases(state, array.phases());
}

void add_real(const stream_profile& p, const std::string& source) {
  std::string name = std::string("real/gmblock/") + word(p.path) + "/" +
                     std::to_string(p.request_bytes) + "/" + source +
                     "/outstanding:" + std::to_string(p.outstanding);
  if (p.chunk_bytes != stream_profile{}.chunk_bytes)
    name += "/chunk:" + std::to_string(p.chunk_bytes);
  benchmark::RegisterBenchmark(name.c_str(), run_real, p, source)->Iterations(1)->UseManualTime();
}

void add(const std::string& name, const stream_profile& p) {
  benchmark::RegisterBenchmark(name.c_str(), run, p)->Iterations(1)->UseManualTime();
}

const bool registered = [] {
  constexpr std::pair<const char*, stream_path> paths[] = {
      {"staged", stream_path::staged},
      {"store_and_forward", stream_path::store_and_forward},
      {"synchronised", stream_path::synchronised}};
  for (const bool modern : {false, true}) {
    const std::string machine = modern ? "table2/" : "gmblock/";
    for (const auto& [name, path] : paths) {
      for (const std::uint32_t outstanding : {1u, 2u, 4u}) {
        for (std::uint32_t bytes = 1024; bytes <= mib / outstanding; bytes *= 4) {
          stream_profile p = modern ? table2_stream_profile(path) : gmblock_profile(path);
          p.request_bytes = bytes;
          p.outstanding = outstanding;
          add(machine + name + "/" + std::to_string(bytes) +
                  "/outstanding:" + std::to_string(outstanding),
              p);
          if (path != stream_path::synchronised || bytes != mib) continue;
          for (const std::uint32_t chunk : {4096u, 8192u, 32768u, 65536u, 131072u, 262144u}) {
            p.chunk_bytes = chunk;
            add(machine + name + "/" + std::to_string(bytes) + "/chunk:" + std::to_string(chunk),
                p);
          }
        }
      }
      if (modern) continue;
      // The first 64 KiB come from one of them.
      add(machine + name + "/1048576/first_stripe_of_one_disk",
          of_eight_disks(gmblock_profile(path)));
    }
  }
  for (const auto& [name, path] : paths) {
    stream_profile p = gmblock_profile(path);
    for (const std::uint32_t outstanding : {1u, 2u, 4u}) {
      p.outstanding = outstanding;
      for (p.request_bytes = 4096; p.request_bytes <= mib / outstanding; p.request_bytes *= 4)
        add_real(p, "flash");
    }
    p.outstanding = 1;
    p.request_bytes = mib;
    add_real(of_eight_disks(p), "disks");
    add_real(without_disks(p), "none");
    if (path != stream_path::synchronised) continue;
    for (p.chunk_bytes = 4096; p.chunk_bytes <= 262144; p.chunk_bytes *= 4) {
      if (p.chunk_bytes != stream_profile{}.chunk_bytes) add_real(p, "flash");
    }
  }
  return true;
}();

}  // namespace

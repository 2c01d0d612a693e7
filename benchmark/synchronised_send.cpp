// Synchronised sends (gmblock) against store-and-forward and staging in host memory: what a target
// streams to one client, at the seed's rates and at those of GNStor's Table 2. Time is virtual, so
// figures are the same on every machine; each packet is compared with what flash holds when it
// leaves.
//
// `of_bound`, for one request at a time: the pipeline's bound (access, the first chunk, and the
// longer of reading and sending) over what it took. The five phases are the seed's, in us.
#include <benchmark/benchmark.h>
#include <timing/stream_model.hpp>

#include <string>
#include <utility>

namespace {

using namespace gnstor::fw;

constexpr std::uint32_t mib = 1 << 20;

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
  const std::pair<const char*, std::uint64_t> phases[] = {{"init_us", r.init},
                                                          {"read_us", r.read},
                                                          {"send_init_us", r.send_init},
                                                          {"send_us", r.send},
                                                          {"fin_us", r.fin}};
  for (const auto& [name, took] : phases) state.counters[name] = static_cast<double>(took) / 1e6;
  if (p.outstanding == 1 && p.path == stream_path::synchronised) {
    std::uint64_t longest = 0;
    for (const std::uint64_t took : r.took) longest = std::max(longest, took);
    state.counters["of_bound"] =
        static_cast<double>(stream_bound(p)) / static_cast<double>(longest);
  }
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
          for (const std::uint32_t chunk : {4096u, 65536u}) {
            p.chunk_bytes = chunk;
            add(machine + name + "/" + std::to_string(bytes) + "/chunk:" + std::to_string(chunk),
                p);
          }
        }
      }
      if (modern) continue;
      // The seed's disks: eight, all at once, so that the first 64 KiB come from one of them.
      stream_profile disks = gmblock_profile(path);
      disks.units = 8;
      disks.unit_rate = disks.flash_to_nic / 8;
      disks.in_order = false;
      add(machine + name + "/1048576/first_stripe_of_one_disk", disks);
    }
  }
  return true;
}();

}  // namespace

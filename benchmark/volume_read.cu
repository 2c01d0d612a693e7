// Reads through volume::read from a kernel, next to the plain link limit of the same moment.
//
// The array node is a persistent kernel on this GPU, its flash pinned host memory: so the limit is
// how fast SMs load from pinned memory. Both are measured interleaved, three rounds; `link_ratio`
// is the median of the rounds' ratios.
#include <gnstor/host/array.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace host = gnstor::host;
using gnstor::block_bytes;

namespace {

constexpr std::uint32_t channels = 32;
constexpr std::uint32_t span_blocks = 128 * 1024;  // 512 MiB
constexpr std::uint32_t largest_read = 65536;

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

__host__ __device__ std::uint64_t pattern(std::uint64_t block, std::uint32_t word) {
  return gnstor::mix64(block * 512 + word + 1);
}

struct plan {
  std::uint32_t blocks;  // of one read
  std::uint32_t rounds;  // reads a lane
  std::uint32_t random;
  std::uint32_t verify;  // compare every word
};

/// Every lane reads into its own piece of the buffer.
struct read_volume {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, gnstor::io_buffer memory,
                            plan p, std::uint64_t* failures) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t slots = span_blocks / p.blocks;
    const gnstor::io_buffer mine =
        memory.slice(std::uint64_t{me} * largest_read, p.blocks * block_bytes);
    std::uint64_t bad = 0;
    for (std::uint32_t k = 0; k < p.rounds; ++k) {
      const std::uint32_t turn = k * lane.grid_threads() + me;
      const std::uint32_t slot =
          p.random != 0 ? static_cast<std::uint32_t>(gnstor::mix64(turn)) % slots : turn % slots;
      const gnstor::vba first(slot * p.blocks);
      const gnstor::status s =
          volume.read(first, p.blocks, mine, gnstor::simt::within(5'000'000'000));
      if (!s.ok()) ++bad;
      const auto* words = reinterpret_cast<const std::uint64_t*>(mine.address);
      const std::uint32_t step = p.verify != 0 ? 1 : 511;
      for (std::uint32_t w = 0; w < p.blocks * 512; w += step) {
        if (words[w] != pattern(first.value + w / 512, w % 512)) ++bad;
      }
      lane.warp().sync();  // lanes that drifted apart would submit one by one
    }
    if (bad != 0) gnstor::device_word<std::uint64_t>(*failures).fetch_add(bad, gnstor::relaxed);
  }
};

/// The physical limit: random 4 KiB pages from pinned memory, a warp a page.
__global__ void load_pinned(const uint4* from, uint4* to, std::uint32_t pages) {
  const std::uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const std::uint32_t lane = threadIdx.x % 32;
  for (std::uint32_t p = warp; p < pages; p += gridDim.x * blockDim.x / 32) {
    const std::uint64_t q = (p * 2654435761ull) & (pages - 1);
    uint4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = from[q * 256 + lane + 32 * k];
#pragma unroll
    for (int k = 0; k < 8; ++k) to[std::uint64_t{p} * 256 + lane + 32 * k] = v[k];
  }
}

/// One array and one loaded volume for all benchmarks of the process.
class rig {
 public:
  static rig& get() {
    static rig one;
    return one;
  }

  double limit_bytes_per_second() {
    const float ms = timed([&] { load_pinned<<<32, 512, 0, stream_>>>(pinned_, sink_, pages_); });
    return double{pages_} * block_bytes / (ms * 1e-3);
  }

  /// Bytes a second of one run; 0 if any read failed or any byte was wrong.
  double read_bytes_per_second(const plan& p) {
    check(cudaMemsetAsync(failures_, 0, sizeof *failures_, stream_), "clearing");
    const float ms = timed([&] {
      gnstor::detail::entry<<<channels, 32, 0, stream_>>>(read_volume{}, session_->ref(volume_),
                                                          buffer_, p, failures_);
    });
    std::uint64_t bad = 0;
    check(cudaMemcpyAsync(&bad, failures_, sizeof bad, cudaMemcpyDeviceToHost, stream_),
          "reading failures");
    check(cudaStreamSynchronize(stream_), "reading failures");
    if (bad != 0) return 0;
    return double{channels} * 32 * p.rounds * p.blocks * block_bytes / (ms * 1e-3);
  }

 private:
  rig() {
    check(cudaHostAlloc(&pinned_, std::size_t{pages_} * block_bytes, cudaHostAllocMapped),
          "pinned memory");
    check(cudaMalloc(&sink_, std::size_t{pages_} * block_bytes), "GPU memory");
    check(cudaMalloc(&failures_, sizeof *failures_), "GPU memory");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
    cudaFuncAttributes loaded;
    check(cudaFuncGetAttributes(&loaded, load_pinned), "loading a kernel");
    check(cudaFuncGetAttributes(
              &loaded, gnstor::detail::entry<read_volume, gnstor::remote_volume, gnstor::io_buffer,
                                             plan, std::uint64_t*>),
          "loading a kernel");
    const char* endpoint = std::getenv("GNSTOR_ENDPOINT");
    session_ = std::make_unique<host::session>(endpoint != nullptr ? endpoint : "emu:?capacity=1G",
                                               host::session_options{.channels = channels});
    volume_ = session_->create_volume({.bytes = std::uint64_t{span_blocks} * block_bytes});
    std::vector<std::uint64_t> words(512 * 1024);
    for (std::uint32_t b = 0; b < span_blocks; b += 1024) {
      for (std::uint32_t w = 0; w < words.size(); ++w) words[w] = pattern(b + w / 512, w % 512);
      session_->write(volume_, std::uint64_t{b} * block_bytes, words.data(), words.size() * 8);
    }
    memory_ =
        host::memory_block(session_->client_place(), std::size_t{channels} * 32 * largest_read);
    buffer_ = session_->register_memory(memory_.data(), memory_.bytes());
  }

  template <class Launch>
  float timed(const Launch& launch) {
    check(cudaEventRecord(begin_, stream_), "event");
    launch();
    check(cudaGetLastError(), "launch");
    check(cudaEventRecord(end_, stream_), "event");
    check(cudaEventSynchronize(end_), "kernel");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "event");
    return ms;
  }

  static constexpr std::uint32_t pages_ = 256 * 1024;
  uint4* pinned_ = nullptr;
  uint4* sink_ = nullptr;
  std::uint64_t* failures_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  std::unique_ptr<host::session> session_;
  gnstor::volume_info volume_;
  host::memory_block memory_;
  gnstor::io_buffer buffer_;
};

void volume_read(benchmark::State& state, std::uint32_t bytes, bool random) {
  rig& r = rig::get();
  const std::uint32_t blocks = bytes / block_bytes;
  const std::uint32_t rounds = blocks == 1 ? 512 : 64;
  if (r.read_bytes_per_second({blocks, 8, random, 1}) == 0) {
    state.SkipWithError("wrong bytes or failed reads");
    return;
  }
  std::vector<double> ratios;
  std::vector<double> rates;
  std::vector<double> limits;
  for (auto _ : state) {
    const double limit = r.limit_bytes_per_second();
    const double rate = r.read_bytes_per_second({blocks, rounds, random, 0});
    if (rate == 0) {
      state.SkipWithError("wrong bytes or failed reads");
      return;
    }
    state.SetIterationTime(double{channels} * 32 * rounds * bytes / rate);
    ratios.push_back(rate / limit);
    rates.push_back(rate);
    limits.push_back(limit);
  }
  for (auto* v : {&ratios, &rates, &limits}) std::sort(v->begin(), v->end());
  state.counters["link_ratio"] = ratios[ratios.size() / 2];
  state.counters["GB_per_s"] = rates[rates.size() / 2] / 1e9;
  state.counters["limit_GB_per_s"] = limits[limits.size() / 2] / 1e9;
  state.counters["MIOPS"] = rates[rates.size() / 2] / bytes / 1e6;
}

const bool registered = [] {
  for (const bool random : {false, true}) {
    for (const std::uint32_t bytes : {4096u, 65536u}) {
      const std::string name =
          std::string("volume_read/") + (random ? "rand/" : "seq/") + std::to_string(bytes);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& s) { volume_read(s, bytes, random); })
          ->UseManualTime()
          ->Iterations(5)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace

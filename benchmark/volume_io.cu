// Reads and writes of a volume from kernels, next to what the hardware allows at the same moment.
//
// The array node is a persistent kernel on this GPU. With its flash in pinned host memory the limit
// is how fast SMs load from (or store to) that memory; with its flash in HBM there is none worth
// naming, and operations a second count. `link_ratio` is the median of the rounds' ratios, limit
// and measurement taken in turn; a write counts every replica.
//
// Reads are compared whole in a first run; while they are timed, by the first and last word of each
// block. Timed writes set those two words of each block, and all blocks are read back.
//
// `alone` are warps that have a channel to themselves; so has the lane that reads one by one in
// `latency`. `shared_channel` lets N threads use one channel, and the same threads, in turn, one
// behind locks over the same queue pair: `of_best` compares N with the best number of threads,
// `against_locked` with the locks.
#include "baselines/lock_channel.hpp"
#include "support/link_limit.cuh"
#include <gnstor/host/array.hpp>
#include <gnstor/volume/exclusive_volume.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace host = gnstor::host;
using gnstor::block_bytes;

namespace {

constexpr std::uint32_t most_channels = 64;
constexpr std::uint32_t most_lanes = 32 * 128;
constexpr std::uint32_t span_blocks = 128 * 1024;  // 512 MiB
constexpr std::uint32_t largest_io = 65536;
constexpr std::uint32_t replicas = 2;
constexpr std::uint32_t limit_pages = 128 * 1024;
constexpr std::uint32_t shared_threads[] = {32, 256, 1024, 4096};

using locked_channel = gnstor::baseline::lock_channel<>;
using locked_volume = gnstor::volume_ref<locked_channel>;

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

/// Word `word` of block `block` after `generation` writes.
__host__ __device__ std::uint64_t pattern(std::uint64_t block, std::uint32_t word,
                                          std::uint32_t generation) {
  return gnstor::mix64((block * 512 + word + 1) ^ std::uint64_t{generation} << 56);
}

struct plan {
  std::uint32_t blocks = 1;  // of one operation
  std::uint32_t rounds = 1;  // operations a lane
  std::uint32_t random = 0;  // else sequential
  std::uint32_t write_percent = 0;
  std::uint32_t generation = 0;  // what writes leave, and what reads of other places expect
  std::uint32_t verify = 0;      // compare every word, not the first and the last of each block
};

/// Every lane moves its own piece of the buffer. Sequential or scattered, no place is visited
/// twice.
struct move_blocks {
  template <class Lane, class Volume>
  GNSTOR_HD void operator()(Lane& lane, Volume volume, gnstor::io_buffer memory, plan p,
                            std::uint64_t* failures) const {
    move(lane, memory, p, failures,
         [&](bool write, gnstor::vba first, const gnstor::io_buffer& mine, gnstor::deadline d) {
           return write ? volume.write(first, p.blocks, mine, d)
                        : volume.read(first, p.blocks, mine, d);
         });
  }

 protected:
  template <class Lane, class Io>
  GNSTOR_HD static void move(Lane& lane, const gnstor::io_buffer& memory, const plan& p,
                             std::uint64_t* failures, const Io& io) {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t slots = span_blocks / p.blocks;
    const gnstor::io_buffer mine =
        memory.slice(std::uint64_t{me} * largest_io, p.blocks * block_bytes);
    auto* words = reinterpret_cast<std::uint64_t*>(mine.address);
    std::uint64_t bad = 0;
    for (std::uint32_t k = 0; k < p.rounds; ++k) {
      const std::uint32_t turn = (k * lane.grid_threads() + me) % slots;
      const std::uint32_t slot = p.random != 0 ? turn * 2654435761u % slots : turn;
      const gnstor::vba first(slot * p.blocks);
      const auto soon = gnstor::simt::within(5'000'000'000);
      const bool write = gnstor::mix64(turn) % 100 < p.write_percent;
      if (write) {
        fill(words, first.value, p, p.write_percent == 100 ? 511 : 1);
      }
      bad += failed(io(write, first, mine, soon), failures);
      if (!write) bad += wrong(words, first.value, p);
    }
    if (bad != 0) gnstor::device_word<std::uint64_t>(*failures).fetch_add(bad, gnstor::relaxed);
  }

 private:
  /// Keeps the first failure in `failures[1]`.
  GNSTOR_HD static std::uint64_t failed(gnstor::status s, std::uint64_t* failures) {
    if (s.ok()) return 0;
    std::uint64_t none = 0;
    gnstor::device_word<std::uint64_t>(failures[1])
        .compare_exchange(none, s.pack(), gnstor::relaxed);
    return 1;
  }
  GNSTOR_HD static void fill(std::uint64_t* words, std::uint32_t first, const plan& p,
                             std::uint32_t step) {
    for (std::uint32_t w = 0; w < p.blocks * 512; w += w % 512 == 511 ? 1 : step)
      words[w] = pattern(first + w / 512, w % 512, p.generation);
  }
  GNSTOR_HD static std::uint64_t wrong(const std::uint64_t* words, std::uint32_t first,
                                       const plan& p) {
    std::uint64_t bad = 0;
    const std::uint32_t step = p.verify != 0 ? 1 : 511;
    for (std::uint32_t w = 0; w < p.blocks * 512; w += w % 512 == 511 ? 1 : step)
      bad += words[w] != pattern(first + w / 512, w % 512, p.generation);
    return bad;
  }
};

/// The same by warps that have a channel to themselves: reads, or writes.
template <bool Writes>
struct move_blocks_alone : move_blocks {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, gnstor::io_buffer memory,
                            plan p, std::uint64_t* failures) const {
    const gnstor::simt::group warp = lane.warp();
    gnstor::exclusive_volume own(warp, volume);
    move(lane, memory, p, failures,
         [&](bool, gnstor::vba first, const gnstor::io_buffer& mine, gnstor::deadline d) {
           if constexpr (Writes) return own.write(warp, first, p.blocks, mine, d);
           if constexpr (!Writes) return own.read(warp, first, p.blocks, mine, d);
         });
    own.release(warp);
  }
};

/// One lane, one read after another.
struct read_one_by_one {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, gnstor::io_buffer memory,
                            std::uint32_t requests, std::uint64_t* failures) const {
    const gnstor::simt::group warp = lane.warp();
    gnstor::exclusive_volume own(warp, volume);
    for (std::uint32_t k = 1; k <= requests; ++k) {
      const gnstor::vba block((k * 2654435761u) & (span_blocks - 1));
      const gnstor::status s = own.read(warp, block, 1, memory.slice(0, block_bytes),
                                        gnstor::simt::within(5'000'000'000));
      if (!s.ok() ||
          *reinterpret_cast<const std::uint64_t*>(memory.address) != pattern(block.value, 0, 0))
        gnstor::device_word<std::uint64_t>(*failures).fetch_add(1, gnstor::relaxed);
    }
    own.release(warp);
  }
};

/// Pinned and GPU memory for the limits, a stream, and a clock: what does not depend on the array.
class bench {
 public:
  static bench& get() {
    static bench one;
    return one;
  }

  float timed(const std::function<void()>& launch) {
    check(cudaEventRecord(begin_, stream), "event");
    launch();
    check(cudaGetLastError(), "launch");
    check(cudaEventRecord(end_, stream), "event");
    check(cudaEventSynchronize(end_), "kernel");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "event");
    return ms;
  }
  double load_limit() {
    return 1.0 * limit_pages * block_bytes * 1e3 / timed([&] {
             gnstor::benchmarks::copy_pages<<<32, 512, 0, stream>>>(pinned, local, limit_pages,
                                                                    false);
           });
  }
  double store_limit() {
    return 1.0 * limit_pages * block_bytes * 1e3 / timed([&] {
             gnstor::benchmarks::copy_pages<<<32, 512, 0, stream>>>(local, pinned, limit_pages,
                                                                    true);
           });
  }
  /// Nanoseconds of a page through a bare ring.
  double ring_ns(bool host_media) {
    constexpr std::uint32_t requests = 4000;
    check(cudaMemsetAsync(ring_, 0, sizeof *ring_, stream), "clearing");
    check(cudaStreamSynchronize(stream), "clearing");
    gnstor::benchmarks::serve_ring<<<1, 32, 0, server_>>>(
        ring_, host_media ? pinned : local, local + 256ull * limit_pages, limit_pages, requests);
    const float ms =
        timed([&] { gnstor::benchmarks::ask_ring<<<1, 1, 0, stream>>>(ring_, requests); });
    check(cudaStreamSynchronize(server_), "ring");
    return ms * 1e6 / requests;
  }
  std::uint64_t failures_of(const std::function<void(std::uint64_t*)>& launch, float& ms) {
    check(cudaMemsetAsync(failures_, 0, 2 * sizeof *failures_, stream), "clearing");
    ms = timed([&] { launch(failures_); });
    std::uint64_t bad[2] = {};
    check(cudaMemcpyAsync(bad, failures_, sizeof bad, cudaMemcpyDeviceToHost, stream),
          "reading failures");
    check(cudaStreamSynchronize(stream), "reading failures");
    if (bad[0] != 0) {
      const gnstor::status first = gnstor::status::unpack(bad[1]);
      std::fprintf(stderr, "%llu failures; the first operation's: code %u, NVMe type %u code %u\n",
                   static_cast<unsigned long long>(bad[0]), static_cast<unsigned>(first.code),
                   static_cast<unsigned>(first.nvme_type), static_cast<unsigned>(first.nvme_code));
    }
    return bad[0];
  }

  /// The session's one channel, as one behind locks; nobody else may use it meanwhile.
  gnstor::channel_set<locked_channel> locked(const gnstor::remote_channel* ours) {
    alignas(gnstor::remote_channel) unsigned char bytes[sizeof(gnstor::remote_channel)];
    check(cudaMemcpyAsync(bytes, ours, sizeof bytes, cudaMemcpyDefault, stream), "channel");
    check(cudaStreamSynchronize(stream), "channel");
    const auto* nic = reinterpret_cast<const gnstor::remote_channel*>(bytes)->queue().nic();
    const locked_channel one(nic->with<gnstor::baseline::under_lock>(), locks_);
    const auto ready = static_cast<std::uint32_t>(gnstor::channel_phase::ready);
    check(cudaMemsetAsync(locks_, 0, locked_channel::bytes(nic->depth()), stream), "clearing");
    check(cudaMemcpyAsync(&one.counters().phase, &ready, sizeof ready, cudaMemcpyDefault, stream),
          "channel");
    check(cudaMemcpyAsync(locked_, &one, sizeof one, cudaMemcpyDefault, stream), "channel");
    check(cudaStreamSynchronize(stream), "channel");
    return {locked_, 1};
  }

  cudaStream_t stream = nullptr;
  uint4* pinned = nullptr;
  uint4* local = nullptr;

 private:
  bench() {
    const std::size_t bytes = std::size_t{limit_pages} * block_bytes;
    check(cudaHostAlloc(&pinned, bytes, cudaHostAllocMapped), "pinned memory");
    check(cudaMalloc(&local, bytes + block_bytes), "GPU memory");
    check(cudaMalloc(&failures_, 2 * sizeof *failures_), "GPU memory");
    check(cudaMalloc(&ring_, sizeof *ring_), "GPU memory");
    check(cudaMalloc(&locks_, locked_channel::bytes(gnstor::mlx5_max_depth)), "GPU memory");
    check(cudaMalloc(&locked_, sizeof *locked_), "GPU memory");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    check(cudaStreamCreateWithFlags(&server_, cudaStreamNonBlocking), "stream");
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
    load_kernels();
  }
  /// A kernel loaded lazily waits for the array node's, which never ends.
  static void load_kernels() {
    cudaFuncAttributes loaded;
    const auto load = [&](auto* kernel) {
      check(cudaFuncGetAttributes(&loaded, kernel), "loading a kernel");
    };
    load(gnstor::benchmarks::copy_pages);
    load(gnstor::benchmarks::serve_ring);
    load(gnstor::benchmarks::ask_ring);
    load(gnstor::detail::entry<move_blocks, gnstor::remote_volume, gnstor::io_buffer, plan,
                               std::uint64_t*>);
    load(
        gnstor::detail::entry<move_blocks, locked_volume, gnstor::io_buffer, plan, std::uint64_t*>);
    load(gnstor::detail::entry<move_blocks_alone<false>, gnstor::remote_volume, gnstor::io_buffer,
                               plan, std::uint64_t*>);
    load(gnstor::detail::entry<move_blocks_alone<true>, gnstor::remote_volume, gnstor::io_buffer,
                               plan, std::uint64_t*>);
    load(gnstor::detail::entry<read_one_by_one, gnstor::remote_volume, gnstor::io_buffer,
                               std::uint32_t, std::uint64_t*>);
  }

  cudaStream_t server_ = nullptr;
  std::uint64_t* failures_ = nullptr;
  gnstor::benchmarks::bare_ring* ring_ = nullptr;
  void* locks_ = nullptr;
  locked_channel* locked_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

struct shape {
  const char* endpoint;
  const char* media;
  std::uint32_t bytes;
  bool random;
  std::uint32_t channels;
  std::uint32_t warps;
  bool alone = false;  ///< each warp has its channel to itself
};

/// An array with one filled volume.
class rig {
 public:
  /// The array of `endpoint` with `channels` channels; the one before it is closed.
  /// @param fresh nothing but the filled volume was ever written to it
  static rig& of(const std::string& endpoint, std::uint32_t channels, bool fresh = false) {
    static std::unique_ptr<rig> now;
    if (fresh || !now || now->endpoint_ != endpoint || now->channels != channels) {
      (void)bench::get();
      now.reset();
      now.reset(new rig(endpoint, channels));
    }
    return *now;
  }

  /// Bytes a second; 0 if an operation failed or a byte was wrong.
  double run(const gnstor::volume_info& v, const plan& p, const shape& s) {
    if (s.alone && p.write_percent != 0)
      return moved(move_blocks_alone<true>{}, session_->ref(v), p, channels, 32);
    if (s.alone) return moved(move_blocks_alone<false>{}, session_->ref(v), p, channels, 32);
    return moved(move_blocks{}, session_->ref(v), p, channels, 32 * s.warps);
  }
  /// The same over the filled volume and one channel, by `threads` threads: ours, or behind locks.
  double run_shared(const plan& p, std::uint32_t threads) {
    return moved(move_blocks{}, session_->ref(volume), p, (threads + 127) / 128,
                 std::min(threads, 128u));
  }
  double run_locked(const plan& p, std::uint32_t threads) {
    const locked_volume behind_locks(volume, bench::get().locked(&session_->channels()[0]),
                                     gnstor::rendezvous_placement(volume.ssd_count));
    return moved(move_blocks{}, behind_locks, p, (threads + 127) / 128, std::min(threads, 128u));
  }
  /// Nanoseconds of one read at a time; 0 if one failed.
  double latency_ns() {
    constexpr std::uint32_t requests = 4000;
    bench& b = bench::get();
    float ms = 0;
    const std::uint64_t bad = b.failures_of(
        [&](std::uint64_t* failures) {
          gnstor::detail::entry<<<1, 1, 0, b.stream>>>(read_one_by_one{}, session_->ref(volume),
                                                       buffer_, requests, failures);
        },
        ms);
    return bad != 0 ? 0 : ms * 1e6 / requests;
  }
  gnstor::volume_info create() {
    return session_->create_volume(
        {.bytes = std::uint64_t{span_blocks} * block_bytes, .replicas = replicas});
  }
  void remove(const gnstor::volume_info& v) { session_->delete_volume(v.vid); }

  const std::uint32_t channels;
  gnstor::volume_info volume;

 private:
  template <class Kernel, class Volume>
  double moved(Kernel kernel, const Volume& v, const plan& p, std::uint32_t blocks,
               std::uint32_t threads) {
    bench& b = bench::get();
    float ms = 0;
    const std::uint64_t bad = b.failures_of(
        [&](std::uint64_t* failures) {
          gnstor::detail::entry<<<blocks, threads, 0, b.stream>>>(kernel, v, buffer_, p, failures);
        },
        ms);
    return bad != 0 ? 0 : 1.0 * blocks * threads * p.rounds * p.blocks * block_bytes * 1e3 / ms;
  }

  rig(const std::string& endpoint, std::uint32_t count)
      : channels(count),
        endpoint_(endpoint),
        session_(
            std::make_unique<host::session>(endpoint, host::session_options{.channels = count})) {
    memory_ = session_->allocate(std::size_t{most_lanes} * largest_io);
    buffer_ = session_->register_memory(memory_.data(), memory_.bytes());
    volume = create();
    std::vector<std::uint64_t> words(512 * 1024);
    for (std::uint32_t b = 0; b < span_blocks; b += 1024) {
      for (std::uint32_t w = 0; w < words.size(); ++w) words[w] = pattern(b + w / 512, w % 512, 0);
      session_->write(volume, std::uint64_t{b} * block_bytes, words.data(), words.size() * 8);
    }
  }

  std::string endpoint_;
  std::unique_ptr<host::session> session_;
  host::memory_block memory_;
  gnstor::io_buffer buffer_;
};

double median(std::vector<double>& v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

void fails(benchmark::State& state) { state.SkipWithError("wrong bytes or failed operations"); }

void report(benchmark::State& state, const shape& s, std::vector<double>& rates,
            std::vector<double>& limits, std::vector<double>& ratios) {
  state.counters["link_ratio"] = median(ratios);
  state.counters["limit_GB_per_s"] = median(limits) / 1e9;
  state.counters["MIOPS"] = median(rates) / s.bytes / 1e6;
  state.counters["GB_per_s"] = rates[rates.size() / 2] / 1e9;
}

/// Runs `p` over the filled volume, next to the load limit.
void against_loads(benchmark::State& state, const shape& s, const plan& p) {
  rig& r = rig::of(s.endpoint, s.channels);
  const double bytes = 1.0 * s.channels * 32 * s.warps * p.rounds * s.bytes;
  std::vector<double> rates, limits, ratios;
  for (auto _ : state) {
    limits.push_back(bench::get().load_limit());
    rates.push_back(r.run(r.volume, p, s));
    if (rates.back() == 0) return fails(state);
    ratios.push_back(rates.back() / limits.back());
    state.SetIterationTime(bytes / rates.back());
  }
  report(state, s, rates, limits, ratios);
}

void read(benchmark::State& state, const shape& s) {
  rig& r = rig::of(s.endpoint, s.channels);
  plan p{.blocks = s.bytes / block_bytes, .rounds = 4, .random = s.random, .verify = 1};
  if (r.run(r.volume, p, s) == 0) return fails(state);
  p.verify = 0;
  p.rounds = (p.blocks == 1 ? 2048 : 128) / s.warps;
  against_loads(state, s, p);
}

/// Writes a new volume once, reads every block back, and deletes it: on a fresh drive, large enough
/// that no block is written twice.
void write(benchmark::State& state, const shape& s) {
  rig& r = rig::of(s.endpoint, s.channels, true);
  const std::uint32_t lanes = s.channels * 32 * s.warps;
  plan p{
      .blocks = s.bytes / block_bytes, .random = s.random, .write_percent = 100, .generation = 1};
  p.rounds = span_blocks / p.blocks / lanes;
  std::vector<double> rates, limits, ratios;
  for (auto _ : state) {
    const gnstor::volume_info v = r.create();
    limits.push_back(bench::get().store_limit() / replicas);
    rates.push_back(r.run(v, p, s));
    plan back = p;
    back.write_percent = 0;
    const bool right = rates.back() != 0 && r.run(v, back, s) != 0;
    r.remove(v);
    if (!right) return fails(state);
    ratios.push_back(rates.back() / limits.back());
    state.SetIterationTime(1.0 * lanes * p.rounds * s.bytes / rates.back());
  }
  report(state, s, rates, limits, ratios);
}

/// 70 % reads of one volume, 30 % writes that leave what was there.
void mixed(benchmark::State& state, const shape& s) {
  plan p{.blocks = s.bytes / block_bytes, .random = s.random, .write_percent = 30};
  p.rounds = span_blocks / p.blocks / (s.channels * 32 * s.warps);
  against_loads(state, s, p);
}

/// Random 4 KiB reads by `32 * s.warps` threads of one channel, next to other numbers of threads
/// and to the same threads behind locks.
void shared_channel(benchmark::State& state, const shape& s) {
  constexpr std::uint32_t ours = 128 * 1024;
  constexpr std::uint32_t theirs = 16 * 1024;
  rig& r = rig::of(s.endpoint, 1);
  const std::uint32_t threads = 32 * s.warps;
  plan p{.rounds = 2, .random = 1, .verify = 1};
  if (r.run_shared(p, threads) == 0 || r.run_locked(p, threads) == 0) return fails(state);
  p.verify = 0;
  std::vector<double> rates, of_best, against_locked;
  for (auto _ : state) {
    double best = 0;
    for (const std::uint32_t n : shared_threads) {
      p.rounds = ours / n;
      const double rate = r.run_shared(p, n);
      if (rate == 0) return fails(state);
      best = std::max(best, rate);
      if (n == threads) rates.push_back(rate);
    }
    p.rounds = theirs / threads;
    const double locked = r.run_locked(p, threads);
    if (locked == 0) return fails(state);
    of_best.push_back(rates.back() / best);
    against_locked.push_back(rates.back() / locked);
    state.SetIterationTime(1.0 * ours * block_bytes / rates.back());
  }
  state.counters["of_best"] = median(of_best);
  state.counters["against_locked"] = median(against_locked);
  state.counters["MIOPS"] = median(rates) / block_bytes / 1e6;
}

/// One 4 KiB read at a time, next to a bare request ring.
void latency(benchmark::State& state, const shape& s) {
  rig& r = rig::of(s.endpoint, s.channels);
  std::vector<double> times, rings, ratios;
  for (auto _ : state) {
    rings.push_back(bench::get().ring_ns(std::string(s.media) == "host"));
    times.push_back(r.latency_ns());
    if (times.back() == 0) return fails(state);
    ratios.push_back(times.back() / rings.back());
    state.SetIterationTime(times.back() * 1e-9);
  }
  state.counters["ring_ratio"] = median(ratios);
  state.counters["ring_ns"] = median(rings);
  state.counters["read_ns"] = median(times);
}

void add(const std::string& name, void (*body)(benchmark::State&, const shape&), const shape& s,
         int iterations) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { body(state, s); })
      ->UseManualTime()
      ->Iterations(iterations)
      ->Unit(benchmark::kMillisecond);
}

std::string named(const char* operation, const shape& s) {
  return std::string(s.alone ? "alone/" : "") + operation + "/" + s.media +
         (s.random ? "/rand/" : "/seq/") + std::to_string(s.bytes) +
         "/channels:" + std::to_string(s.channels) +
         (s.alone ? "" : "/warps:" + std::to_string(s.warps));
}

const bool registered = [] {
  const char* host_media = "emu:?runner=gpu&capacity=2G";
  const char* hbm_media = "emu:?runner=gpu&capacity=2G&media=hbm";
  const auto reads = [](const char* endpoint, const char* media, std::uint32_t channels) {
    for (const std::uint32_t bytes : {4096u, 65536u}) {
      for (const bool random : {false, true}) {
        for (const std::uint32_t warps : {1u, 4u}) {
          const shape s{endpoint, media, bytes, random, channels, warps};
          add(named("read", s), read, s, 5);
        }
      }
    }
  };
  for (const std::uint32_t channels : {1u, 2u, 8u, 32u}) reads(host_media, "host", channels);
  for (const std::uint32_t bytes : {4096u, 65536u}) {
    for (const std::uint32_t warps : {1u, 4u}) {
      const shape s{host_media, "host", bytes, true, 32, warps};
      add(named("write", s), write, s, 5);
      add(named("mixed", s), mixed, s, 1);
    }
  }
  const auto reads_alone = [](const char* endpoint, const char* media) {
    for (const std::uint32_t channels : {1u, 8u, 32u, 64u}) {
      const shape s{endpoint, media, block_bytes, true, channels, 1, true};
      add(named("read", s), read, s, 5);
    }
  };
  for (const std::uint32_t bytes : {4096u, 65536u}) {
    const shape s{host_media, "host", bytes, true, 32, 1, true};
    add(named("write", s), write, s, 5);
  }
  reads_alone(host_media, "host");
  add("latency/host/4096", latency, {host_media, "host", 4096, true, 32, 1}, 5);
  reads(hbm_media, "hbm", 1);
  reads(hbm_media, "hbm", 32);
  reads_alone(hbm_media, "hbm");
  for (const std::uint32_t threads : shared_threads)
    add("shared_channel/hbm/threads:" + std::to_string(threads), shared_channel,
        {hbm_media, "hbm", block_bytes, true, 1, threads / 32}, 5);
  add("latency/hbm/4096", latency, {hbm_media, "hbm", 4096, true, 32, 1}, 5);
  return true;
}();

}  // namespace

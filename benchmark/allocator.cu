// Allocation on the GPU: how many pairs of alloc and free per second, next to CUDA's own malloc, a
// buddy system under a lock, and a flat bitmap; and how many large requests a long churn leaves in
// one contiguous block.
//
// The four take turns, round by round, with the same threads; `ratio_to_*` is the median of the
// rounds' ratios. A pool's memory is real: every page is marked by its owner and checked.
#include "support/contiguity_report.hpp"
#include <gnstor/simt/lane.hpp>

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using gnstor::extent;
using gnstor::thread_scope_device;
using ours = gnstor::block_allocator<thread_scope_device>;
using buddy = gnstor::baseline::buddy_allocator<thread_scope_device>;
using bitmap = gnstor::baseline::single_level_bitmap<thread_scope_device>;

constexpr std::uint32_t pools = 32;
constexpr std::uint64_t pool_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t page = 4096;
constexpr std::uint32_t grid = 132;
constexpr std::uint32_t block = 256;
constexpr std::uint32_t threads = grid * block;

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

/// Zeroed GPU memory for the life of the process.
template <class T>
T* device_memory(std::size_t count) {
  T* data = nullptr;
  check(cudaMalloc(&data, count * sizeof(T)), "GPU memory");
  check(cudaMemset(data, 0, count * sizeof(T)), "GPU memory");
  return data;
}

/// What the threads of a throughput run saw.
struct outcome {
  unsigned long long pairs = 0;
  unsigned long long refused = 0;  ///< nothing was free; tried again
  unsigned long long wrong = 0;    ///< a page with two owners, or a wrong status
};

/// Allocators of all pools, each with its own bitmap or lists, and the pools' memory.
template <class Allocator>
class pool_set {
 public:
  pool_set(std::uint32_t count, std::uint64_t bytes, char* memory)
      : bytes_(bytes), step_((Allocator::bytes_for(bytes) + 255) / 256 * 256) {
    empty_.resize(step_ / 8 * count);
    for (std::uint32_t k = 0; k < count; ++k)
      Allocator::format(empty_.data() + step_ / 8 * k, bytes);
    words_ = device_memory<std::uint64_t>(empty_.size());
    memory_ = memory;
    check(cudaMemcpy(words_, empty_.data(), empty_.size() * 8, cudaMemcpyHostToDevice), "format");
  }
  /// Whether every pool is as it was when it was empty: nothing is leaked.
  bool all_free(std::uint32_t count) const {
    std::vector<std::uint64_t> now(empty_.size());
    check(cudaMemcpy(now.data(), words_, now.size() * 8, cudaMemcpyDeviceToHost), "reading");
    for (std::uint32_t k = 0; k < count; ++k) {
      if (Allocator(now.data() + step_ / 8 * k, bytes_).free_bytes() != bytes_) return false;
    }
    return true;
  }

  /// What a kernel takes: the same without the host's copy.
  struct view {
    char* words;
    char* memory;
    std::uint64_t step;
    std::uint64_t bytes;
    __device__ Allocator pool(std::uint32_t k) const { return Allocator(words + step * k, bytes); }
    __device__ char* start(std::uint32_t k) const { return memory + bytes * k; }
  };
  view ref() const { return {reinterpret_cast<char*>(words_), memory_, step_, bytes_}; }

 private:
  std::uint64_t bytes_;
  std::uint64_t step_;
  std::vector<std::uint64_t> empty_;
  std::uint64_t* words_ = nullptr;
  char* memory_ = nullptr;
};

__device__ bool marked_by_me(char* at, std::uint64_t me) {
  auto* word = reinterpret_cast<volatile std::uint64_t*>(at);
  *word = me;
  return *word == me;
}

__device__ void add(outcome* to, const outcome& mine) {
  atomicAdd(&to->pairs, mine.pairs);
  if (mine.refused != 0) atomicAdd(&to->refused, mine.refused);
  if (mine.wrong != 0) atomicAdd(&to->wrong, mine.wrong);
}

/// Every thread takes a page of its warp's pool, marks it, checks the mark, and gives it back.
template <class Allocator>
__global__ void run_pairs(typename pool_set<Allocator>::view set, std::uint32_t rounds,
                          outcome* seen) {
  const std::uint32_t me = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t which = me / 32 % pools;
  const Allocator pool = set.pool(which);
  outcome mine;
  for (std::uint32_t k = 0; k < rounds; ++k) {
    const gnstor::result<extent> part =
        gnstor::contiguity::request(pool, page, gnstor::mix64(me + (std::uint64_t{k} << 32)));
    if (part) {
      if (!marked_by_me(set.start(which) + part.value.offset, me + 1)) ++mine.wrong;
      if (!pool.release(part.value).ok()) ++mine.wrong;
      ++mine.pairs;
    } else {
      ++mine.refused;
      if (part.status.code != gnstor::status_code::would_block) ++mine.wrong;
    }
    __syncwarp();  // lanes that drifted apart would ask one by one
  }
  add(seen, mine);
}

__global__ void run_malloc(std::uint32_t rounds, outcome* seen) {
  const std::uint32_t me = blockIdx.x * blockDim.x + threadIdx.x;
  outcome mine;
  for (std::uint32_t k = 0; k < rounds; ++k) {
    auto* part = static_cast<char*>(malloc(page));
    if (part != nullptr) {
      if (!marked_by_me(part, me + 1)) ++mine.wrong;
      free(part);
      ++mine.pairs;
    } else {
      ++mine.refused;
    }
    __syncwarp();
  }
  add(seen, mine);
}

template <class Allocator>
__global__ void run_churn(gnstor::contiguity::churn<Allocator> body,
                          typename pool_set<Allocator>::view set,
                          gnstor::contiguity::holding* holdings, gnstor::contiguity::record* seen) {
  gnstor::simt::lane<> lane;
  const auto marks = gnstor::contiguity::page_marks{reinterpret_cast<std::uint64_t*>(set.start(0)),
                                                    static_cast<std::uint32_t>(page / 8)};
  body(lane, set.pool(0), marks, holdings, seen);
}

/// Everything that all benchmarks of the process share.
class rig {
 public:
  static rig& get() {
    static rig one;
    return one;
  }

  /// Pairs a second of one run of `kernel(rounds, outcome)`; negative if something was wrong.
  template <class Launch>
  double pairs_per_second(std::uint32_t rounds, const Launch& launch) {
    check(cudaMemset(seen_, 0, sizeof(outcome)), "clearing");
    check(cudaEventRecord(begin_), "event");
    launch(rounds, seen_);
    check(cudaGetLastError(), "launch");
    check(cudaEventRecord(end_), "event");
    check(cudaEventSynchronize(end_), "kernel");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "event");
    check(cudaMemcpy(&last, seen_, sizeof last, cudaMemcpyDeviceToHost), "outcome");
    return last.wrong != 0 ? -1 : static_cast<double>(last.pairs) / (ms * 1e-3);
  }
  outcome last;

  char* memory() const { return memory_; }

 private:
  rig() {
    check(cudaDeviceSetLimit(cudaLimitMallocHeapSize, pools * pool_bytes), "heap of malloc");
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
    seen_ = device_memory<outcome>(1);
    memory_ = device_memory<char>(pools * pool_bytes);
  }

  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  outcome* seen_ = nullptr;
  char* memory_ = nullptr;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One of those that take turns: its rounds a run, long enough to be measured, and its rates.
template <class Launch>
struct contestant {
  std::uint32_t rounds;
  Launch launch;
  std::vector<double> rates{};
  double refused = 0;

  bool run() {
    const double rate = rig::get().pairs_per_second(rounds, launch);
    rates.push_back(rate);
    const outcome& last = rig::get().last;
    refused = static_cast<double>(last.refused) / static_cast<double>(last.pairs + last.refused);
    return rate > 0;
  }
};
template <class Launch>
contestant(std::uint32_t, Launch) -> contestant<Launch>;

template <class Allocator>
auto pairs_of(const pool_set<Allocator>& set) {
  return [view = set.ref()](std::uint32_t rounds, outcome* seen) {
    run_pairs<Allocator><<<grid, block>>>(view, rounds, seen);
  };
}

std::vector<double> ratios(const std::vector<double>& mine, const std::vector<double>& theirs) {
  std::vector<double> out;
  for (std::size_t k = 0; k < mine.size(); ++k) out.push_back(mine[k] / theirs[k]);
  return out;
}

void pairs(benchmark::State& state) {
  const pool_set<ours> own(pools, pool_bytes, rig::get().memory());
  const pool_set<buddy> lists(pools, pool_bytes, rig::get().memory());
  const pool_set<bitmap> flat(pools, pool_bytes, rig::get().memory());
  contestant mine{1000, pairs_of(own)};
  contestant cuda{
      10, [](std::uint32_t rounds, outcome* seen) { run_malloc<<<grid, block>>>(rounds, seen); }};
  contestant locked{8, pairs_of(lists)};
  contestant simple{1000, pairs_of(flat)};
  const auto all_run = [&] { return mine.run() && cuda.run() && locked.run() && simple.run(); };
  if (!all_run()) {  // warms up, and shows that no page has two owners
    state.SkipWithError("a page had two owners, or nothing was granted");
    return;
  }
  mine.rates.clear();
  cuda.rates.clear();
  locked.rates.clear();
  simple.rates.clear();
  for (auto _ : state) {
    if (!all_run()) {
      state.SkipWithError("a page had two owners, or nothing was granted");
      return;
    }
    state.SetIterationTime(double{threads} * mine.rounds / mine.rates.back());
  }
  if (!own.all_free(pools) || !lists.all_free(pools) || !flat.all_free(pools)) {
    state.SkipWithError("a page was leaked");
    return;
  }
  state.counters["ratio_to_malloc"] = median(ratios(mine.rates, cuda.rates));
  state.counters["ratio_to_buddy"] = median(ratios(mine.rates, locked.rates));
  state.counters["ratio_to_bitmap"] = median(ratios(mine.rates, simple.rates));
  state.counters["Mpairs_per_s"] = median(mine.rates) / 1e6;
  state.counters["malloc_Mpairs_per_s"] = median(cuda.rates) / 1e6;
  state.counters["buddy_Mpairs_per_s"] = median(locked.rates) / 1e6;
  state.counters["bitmap_Mpairs_per_s"] = median(simple.rates) / 1e6;
  state.counters["refused"] = mine.refused;
}

constexpr std::uint32_t churn_requests = 20000;  // of each thread

/// One churn of an allocator; false with an error in `state` if a page was lost or had two owners.
template <class Allocator>
bool churned(benchmark::State& state, std::uint64_t bytes, std::uint32_t warps,
             gnstor::contiguity::record& seen) {
  using gnstor::contiguity::holding;
  using gnstor::contiguity::record;
  const gnstor::contiguity::plan p{.requests = churn_requests,
                                   .warm_up = churn_requests / 4,
                                   .slots = 1000,
                                   .target_bytes = bytes / 10 * 8};
  static holding* const holdings = device_memory<holding>(std::size_t{1000} * 16);
  static record* const record_memory = device_memory<record>(1);
  check(cudaMemset(rig::get().memory(), 0, bytes), "clearing marks");
  check(cudaMemset(record_memory, 0, sizeof(record)), "clearing");
  const pool_set<Allocator> set(1, bytes, rig::get().memory());
  run_churn<Allocator>
      <<<warps, 1>>>(gnstor::contiguity::churn<Allocator>(p), set.ref(), holdings, record_memory);
  check(cudaGetLastError(), "launch");
  check(cudaMemcpy(&seen, record_memory, sizeof seen, cudaMemcpyDeviceToHost), "churn");
  return gnstor::contiguity::verified(state, seen, set.all_free(1));
}

void contiguity(benchmark::State& state, std::uint64_t bytes, std::uint32_t warps) {
  gnstor::contiguity::compare(state, [&]<class Allocator>(gnstor::contiguity::record& seen) {
    return churned<Allocator>(state, bytes, warps, seen);
  });
}

const bool registered = [] {
  benchmark::RegisterBenchmark("allocator/pairs/4096", pairs)
      ->UseManualTime()
      ->Iterations(5)
      ->Unit(benchmark::kMillisecond);
  return gnstor::contiguity::register_churns("allocator", contiguity);
}();

}  // namespace

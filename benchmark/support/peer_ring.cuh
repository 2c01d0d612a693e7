#pragma once

#include "bare_ring.cuh"
#include "cuda_check.cuh"
#include "pattern.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>

namespace gnstor::benchmarks {

/// Requests and answers of one channel of a bare ring between two GPUs.
struct peer_channel {
  static constexpr std::uint32_t slots = 256;
  struct alignas(64) request {
    const uint4* from;
    uint4* to;
  };
  request requests[slots];
  alignas(128) std::uint32_t done[slots];  ///< number + 1 of the request that was served last
  alignas(128) std::uint32_t asked;        ///< requests so far
};

/// What a ring does in one run: every channel asks for `total` pages, `depth` at a time.
struct peer_job {
  peer_channel* channels = nullptr;
  const uint4* media = nullptr;  ///< on the server, filled by `fill`
  uint4* local = nullptr;        ///< on the client: 32 pages a channel
  std::uint32_t count = 1;       ///< of channels
  std::uint32_t warps = 1;       ///< of the server for each channel
  std::uint32_t depth = 32;      ///< 32 at most
  std::uint32_t total = 0;       ///< a multiple of `depth`
  bool check_all = false;        ///< compare every page, not those of the last batch

  static constexpr std::uint32_t media_pages = 128 * 1024;
  __device__ std::uint32_t place(std::uint32_t channel, std::uint32_t number) const {
    return ((number + channel * total) * 2654435761u) & (media_pages - 1);
  }
};

__global__ void fill_media(std::uint64_t* media) {
  const std::uint64_t words = std::uint64_t{peer_job::media_pages} * block_words;
  for (std::uint64_t w = blockIdx.x * blockDim.x + threadIdx.x; w < words;
       w += gridDim.x * blockDim.x)
    media[w] = pattern(w / block_words, w % block_words, 0);
}

/// Warp w of a channel serves every `warps`-th request, from the w-th on.
__global__ void serve_peer(peer_job job) {
  const std::uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (warp / job.warps >= job.count) return;
  peer_channel& c = job.channels[warp / job.warps];
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system> asked(c.asked);
  for (std::uint32_t k = warp % job.warps; k < job.total; k += job.warps) {
    while (static_cast<std::int32_t>(asked.load(cuda::memory_order_acquire) - k) <= 0) {
    }
    const peer_channel::request& r = c.requests[k % peer_channel::slots];
    copy_page(r.from, r.to);
    __syncwarp();
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system> done(
        c.done[k % peer_channel::slots]);
    if (threadIdx.x % 32 == 0) done.store(k + 1, cuda::memory_order_release);
    __syncwarp();
  }
}

/// One warp a channel; a lane a request of the batch. @par Callers blocks of one warp
__global__ void ask_peer(peer_job job, std::uint64_t* wrong) {
  const std::uint32_t lane = threadIdx.x;
  peer_channel& c = job.channels[blockIdx.x];
  uint4* mine = job.local + (blockIdx.x * 32 + lane) * 256;
  std::uint64_t bad = 0;
  for (std::uint32_t base = 0; base < job.total; base += job.depth) {
    const std::uint32_t k = base + lane;
    const std::uint32_t page = job.place(blockIdx.x, k);
    if (lane < job.depth) {
      peer_channel::request& r = c.requests[k % peer_channel::slots];
      r.from = job.media + page * 256ull;
      r.to = mine;
    }
    __syncwarp();
    if (lane == 0)
      cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>(c.asked).store(
          base + job.depth, cuda::memory_order_release);
    if (lane < job.depth) {
      cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system> done(
          c.done[k % peer_channel::slots]);
      while (done.load(cuda::memory_order_acquire) != k + 1) {
      }
      const bool check = job.check_all || base + job.depth >= job.total;
      const auto* words = reinterpret_cast<const std::uint64_t*>(mine);
      for (std::uint32_t w = 0; check && w < block_words; ++w)
        bad += words[w] != pattern(page, w, 0);
    }
    __syncwarp();
  }
  if (bad != 0)
    cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*wrong).fetch_add(
        bad, cuda::memory_order_relaxed);
}

/// A bare request ring whose server is GPU 1 and whose client is GPU 0: what two GPUs can do
/// without any protocol.
///
/// Made before the first array, since `cudaMalloc` waits for a kernel that never ends.
class peer_ring {
 public:
  struct form {
    std::uint32_t channels = 64;
    std::uint32_t warps = 16;
    std::uint32_t depth = 32;
    bool at_server = false;  ///< the ring lies in the server's memory, not in the client's

    std::string name() const {
      return std::to_string(channels) + " channels x " + std::to_string(warps) +
             " warps, ring on " + (at_server ? "the node's GPU" : "the client's GPU");
    }
  };

  /// What this machine lacks, or nothing.
  static std::string missing() {
    int gpus = 0;
    int can = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2) {
      (void)cudaGetLastError();
      return "needs two GPUs, this machine has " + std::to_string(gpus);
    }
    cuda_check(cudaDeviceCanAccessPeer(&can, 0, 1), "asking for peer access");
    return can != 0 ? "" : "GPU 0 cannot reach GPU 1's memory";
  }
  static peer_ring& get() {
    static peer_ring one;
    return one;
  }

  /// The fastest form of up to 64 channels at depth 32, and the fastest at depth 1; found while no
  /// array was open.
  const form& fastest() const { return fastest_; }
  const form& quickest() const { return quickest_; }
  /// Pages a second of the fastest, while no array was open; and with 128 channels, which keeps
  /// twice as many requests in flight.
  double undisturbed() const { return undisturbed_; }
  double undisturbed_wide() const { return undisturbed_wide_; }

  /// Pages a second; 0 if a page was wrong.
  double rate(const form& f, bool check_all = false) {
    peer_job job{.channels = f.at_server ? there_ : here_,
                 .media = media_,
                 .local = local_,
                 .count = f.channels,
                 .warps = f.warps,
                 .depth = f.depth,
                 .total = f.depth == 1 ? 2048u
                          : check_all  ? 1024u
                                       : 16384u,
                 .check_all = check_all};
    clear(wrong_, sizeof *wrong_, false);
    clear(job.channels, most * sizeof(peer_channel), f.at_server);
    cuda_check(cudaSetDevice(1), "GPU 1");
    serve_peer<<<(f.channels * f.warps + 7) / 8, 256, 0, serves_>>>(job);
    cuda_check(cudaGetLastError(), "launch");
    cuda_check(cudaSetDevice(0), "GPU 0");
    cuda_check(cudaEventRecord(begin_, asks_), "event");
    ask_peer<<<f.channels, 32, 0, asks_>>>(job, wrong_);
    cuda_check(cudaGetLastError(), "launch");
    cuda_check(cudaEventRecord(end_, asks_), "event");
    std::uint64_t wrong = 0;
    cuda_check(cudaMemcpyAsync(&wrong, wrong_, sizeof wrong, cudaMemcpyDeviceToHost, asks_),
               "read");
    cuda_check(cudaStreamSynchronize(asks_), "ring");
    cuda_check(cudaStreamSynchronize(serves_), "ring");
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, begin_, end_), "event");
    return wrong != 0 ? 0 : 1e3 * f.channels * job.total / ms;
  }

 private:
  static constexpr std::uint32_t most = 128;  ///< channels

  peer_ring() {
    const std::size_t bytes = std::size_t{peer_job::media_pages} * 4096;
    enter(1, 0);
    cuda_check(cudaMalloc(&media_, bytes), "memory of GPU 1");
    cuda_check(cudaMalloc(&there_, most * sizeof(peer_channel)), "memory of GPU 1");
    cuda_check(cudaStreamCreateWithFlags(&serves_, cudaStreamNonBlocking), "stream");
    fill_media<<<128, 256, 0, serves_>>>(reinterpret_cast<std::uint64_t*>(media_));
    cuda_check(cudaStreamSynchronize(serves_), "filling");
    enter(0, 1);
    cuda_check(cudaMalloc(&here_, most * sizeof(peer_channel)), "memory of GPU 0");
    cuda_check(cudaMalloc(&local_, most * 32 * 4096), "memory of GPU 0");
    cuda_check(cudaMalloc(&wrong_, sizeof *wrong_), "memory of GPU 0");
    cuda_check(cudaStreamCreateWithFlags(&asks_, cudaStreamNonBlocking), "stream");
    cuda_check(cudaEventCreate(&begin_), "event");
    cuda_check(cudaEventCreate(&end_), "event");
    undisturbed_ = find(fastest_, 32, {1u, 4u, 16u, 64u}, {1u, 16u});
    (void)find(quickest_, 1, {1u}, {1u});
    form wide;
    undisturbed_wide_ = find(wide, 32, {128u}, {8u, 16u});
  }

  void clear(void* memory, std::size_t bytes, bool at_server) {
    const cudaStream_t stream = at_server ? serves_ : asks_;
    cuda_check(cudaSetDevice(at_server ? 1 : 0), "choosing a GPU");
    cuda_check(cudaMemsetAsync(memory, 0, bytes, stream), "clearing");
    cuda_check(cudaStreamSynchronize(stream), "clearing");
  }

  /// Makes `device` the current one and lets it reach `peer`.
  static void enter(int device, int peer) {
    cuda_check(cudaSetDevice(device), "choosing a GPU");
    const cudaError_t e = cudaDeviceEnablePeerAccess(peer, 0);
    if (e != cudaErrorPeerAccessAlreadyEnabled) cuda_check(e, "peer access");
    (void)cudaGetLastError();
    cudaFuncAttributes loaded;
    cuda_check(cudaFuncGetAttributes(&loaded, fill_media), "loading a kernel");
    cuda_check(cudaFuncGetAttributes(&loaded, serve_peer), "loading a kernel");
    cuda_check(cudaFuncGetAttributes(&loaded, ask_peer), "loading a kernel");
  }

  /// Tries every form, first with all pages compared. Returns the best rate.
  double find(form& best, std::uint32_t depth, std::initializer_list<std::uint32_t> channels,
              std::initializer_list<std::uint32_t> warps) {
    double most_pages = 0;
    for (const bool at_server : {false, true}) {
      for (const std::uint32_t c : channels) {
        for (const std::uint32_t w : warps) {
          const form f{c, w, depth, at_server};
          if (rate(f, true) == 0) throw std::runtime_error("a bare ring left wrong bytes");
          const double pages = rate(f);
          if (pages <= most_pages) continue;
          most_pages = pages;
          best = f;
        }
      }
    }
    return most_pages;
  }

  uint4* media_ = nullptr;
  uint4* local_ = nullptr;
  peer_channel* here_ = nullptr;
  peer_channel* there_ = nullptr;
  std::uint64_t* wrong_ = nullptr;
  cudaStream_t serves_ = nullptr;
  cudaStream_t asks_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  form fastest_;
  form quickest_;
  double undisturbed_ = 0;
  double undisturbed_wide_ = 0;
};

}  // namespace gnstor::benchmarks

#pragma once

#include "batch_ring.cuh"
#include "cuda_check.cuh"
#include "link_limit.cuh"

#include <cstdint>
#include <initializer_list>
#include <string>

namespace gnstor::benchmarks {

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
    bool fenced = false;     ///< `batch_job::fenced`

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
  /// The fastest of up to 64 channels at depth 32 whose lanes all fence.
  const form& fenced() const { return fenced_; }
  /// Pages a second of the fastest, while no array was open; and with 128 channels, which keeps
  /// twice as many requests in flight.
  double undisturbed() const { return undisturbed_; }
  double undisturbed_wide() const { return undisturbed_wide_; }

  /// Pages per second; 0 if a page was wrong.
  double rate(const form& f, bool check_all = false) {
    batch_job job{.channels = f.at_server ? there_ : here_,
                  .media = media_,
                  .local = local_,
                  .count = f.channels,
                  .warps = f.warps,
                  .depth = f.depth,
                  .total = f.depth == 1 ? 2048u
                           : check_all  ? 1024u
                                        : 16384u,
                  .check_all = check_all,
                  .fenced = f.fenced};
    clear(wrong_, sizeof *wrong_, false);
    clear(job.channels, most * sizeof(batch_channel), f.at_server);
    cuda_check(cudaSetDevice(1), "GPU 1");
    serve_batches<ring_scope><<<(f.channels * f.warps + 7) / 8, 256, 0, serves_>>>(job);
    cuda_check(cudaGetLastError(), "launch");
    cuda_check(cudaSetDevice(0), "GPU 0");
    cuda_check(cudaEventRecord(begin_, asks_), "event");
    ask_batches<ring_scope><<<f.channels, 32, 0, asks_>>>(job, wrong_);
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
  /// Of the rings' words: what an array's node on another GPU and its client use.
  static constexpr cuda::thread_scope ring_scope = cuda::thread_scope_system;

  peer_ring() {
    const std::size_t bytes = std::size_t{batch_job::media_pages} * 4096;
    enter(1, 0);
    cuda_check(cudaMalloc(&media_, bytes), "memory of GPU 1");
    cuda_check(cudaMalloc(&there_, most * sizeof(batch_channel)), "memory of GPU 1");
    cuda_check(cudaStreamCreateWithFlags(&serves_, cudaStreamNonBlocking), "stream");
    fill_pages<<<128, 256, 0, serves_>>>(reinterpret_cast<std::uint64_t*>(media_), 0,
                                         batch_job::media_pages);
    cuda_check(cudaStreamSynchronize(serves_), "filling");
    enter(0, 1);
    cuda_check(cudaMalloc(&here_, most * sizeof(batch_channel)), "memory of GPU 0");
    cuda_check(cudaMalloc(&local_, most * 32 * 4096), "memory of GPU 0");
    cuda_check(cudaMalloc(&wrong_, sizeof *wrong_), "memory of GPU 0");
    cuda_check(cudaStreamCreateWithFlags(&asks_, cudaStreamNonBlocking), "stream");
    cuda_check(cudaEventCreate(&begin_), "event");
    cuda_check(cudaEventCreate(&end_), "event");
    undisturbed_ = find(fastest_, {.depth = 32}, {1u, 4u, 16u, 64u}, {1u, 16u});
    (void)find(fenced_, {.depth = 32, .fenced = true}, {16u, 64u}, {1u, 16u});
    (void)find(quickest_, {.depth = 1}, {1u}, {1u});
    form wide;
    undisturbed_wide_ = find(wide, {.depth = 32}, {128u}, {8u, 16u});
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
    cuda_check(cudaFuncGetAttributes(&loaded, fill_pages), "loading a kernel");
    cuda_check(cudaFuncGetAttributes(&loaded, serve_batches<ring_scope>), "loading a kernel");
    cuda_check(cudaFuncGetAttributes(&loaded, ask_batches<ring_scope>), "loading a kernel");
  }

  /// Tries every form, first with all pages compared. Returns the best rate.
  double find(form& best, form f, std::initializer_list<std::uint32_t> channels,
              std::initializer_list<std::uint32_t> warps) {
    double most_pages = 0;
    for (const bool at_server : {false, true}) {
      for (const std::uint32_t c : channels) {
        for (const std::uint32_t w : warps) {
          f.channels = c;
          f.warps = w;
          f.at_server = at_server;
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
  batch_channel* here_ = nullptr;
  batch_channel* there_ = nullptr;
  std::uint64_t* wrong_ = nullptr;
  cudaStream_t serves_ = nullptr;
  cudaStream_t asks_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  form fastest_;
  form quickest_;
  form fenced_;
  double undisturbed_ = 0;
  double undisturbed_wide_ = 0;
};

}  // namespace gnstor::benchmarks

#pragma once

#include "../support/batch_ring.cuh"
#include "../support/launch.cuh"
#include "../support/link_limit.cuh"
#include "block_data.hpp"

#include <cstdio>
#include <functional>

namespace gnstor::benchmarks {

/// Pinned and GPU memory for the limits, a stream, and a clock: what does not depend on an array.
///
/// Made before the first array: pinning memory and `cudaMalloc` wait for a kernel that never ends.
class hardware {
 public:
  static hardware& get() {
    static hardware one;
    return one;
  }

  const cudaStream_t& stream() const { return stream_; }

  float timed(const std::function<void()>& work) {
    cuda_check(cudaEventRecord(begin_, stream_), "event");
    work();
    cuda_check(cudaGetLastError(), "launch");
    cuda_check(cudaEventRecord(end_, stream_), "event");
    cuda_check(cudaEventSynchronize(end_), "kernel");
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, begin_, end_), "event");
    return ms;
  }

  /// Bytes a second from pinned memory.
  double load_limit() {
    return copied_bytes /
           timed([&] { copy_pages<<<32, 512, 0, stream_>>>(pinned_, local_, limit_pages); });
  }
  /// Bytes a second to pinned memory.
  double store_limit() {
    return copied_bytes /
           timed([&] { copy_pages<<<32, 512, 0, stream_>>>(local_, pinned_, limit_pages); });
  }

  struct ring_shape {
    bool host_media = true;
    std::uint32_t pages = 1;  ///< of a request, 32 at most
    bool scattered = true;
    std::uint32_t store = 0;  ///< copies that are written, 2 at most; 0: reads
  };
  /// Nanoseconds of a request through a bare ring; 0 if it left wrong bytes.
  double ring_ns(const ring_shape& s) {
    constexpr std::uint32_t requests = 4000;
    ring_job job{.requests = requests, .scattered = s.scattered, .store = s.store};
    uint4* media = s.host_media ? pinned_ : local_;
    const std::uint32_t media_pages = s.store == 0 ? limit_pages : scratch_pages / 2;
    job.slots = media_pages / s.pages;
    job.from = s.store == 0 ? media : page_;
    job.to = s.store == 0 ? page_ : s.host_media ? pinned_scratch_ : local_scratch_;
    if (s.store != 0) fill_pages<<<32, 32, 0, stream_>>>(words(page_), 0, s.pages);
    cuda_check(cudaMemsetAsync(ring_, 0, sizeof *ring_, stream_), "clearing");
    cuda_check(cudaStreamSynchronize(stream_), "clearing");
    serve_ring<ring_scope><<<1, 32 * s.pages, 0, server_>>>(ring_, job);
    const float ms = timed([&] { ask_ring<ring_scope><<<1, 1, 0, stream_>>>(ring_, requests); });
    cuda_check(cudaStreamSynchronize(server_), "ring");
    const std::uint64_t last = job.slot(requests) * s.pages;
    std::uint64_t wrong = 0;
    if (s.store == 0) wrong = wrong_pages(page_, last, s.pages);
    for (std::uint32_t c = 0; c < s.store; ++c)
      wrong += wrong_pages(job.to + (c * std::uint64_t{media_pages} + last) * 256, 0, s.pages);
    return wrong != 0 ? 0 : ms * 1e6 / requests;
  }

  /// Pages a second that one warp reads, 32 at a time, through a bare ring with a server's warp for
  /// each; 0 if it left a wrong page.
  double batch_rate(bool host_media) {
    constexpr std::uint32_t requests = 32 * 4000;
    const auto run = [&](std::uint32_t total, bool check_all) {
      const batch_job job{.channels = batches_,
                          .media = host_media ? pinned_ : local_,
                          .local = page_,
                          .warps = 32,
                          .total = total,
                          .check_all = check_all};
      cuda_check(cudaMemsetAsync(batches_, 0, sizeof *batches_, stream_), "clearing");
      cuda_check(cudaMemsetAsync(wrong_, 0, sizeof *wrong_, stream_), "clearing");
      cuda_check(cudaStreamSynchronize(stream_), "clearing");
      serve_batches<ring_scope><<<4, 256, 0, server_>>>(job);
      const float ms = timed([&] { ask_batches<ring_scope><<<1, 32, 0, stream_>>>(job, wrong_); });
      cuda_check(cudaStreamSynchronize(server_), "ring");
      std::uint64_t wrong = 0;
      cuda_check(cudaMemcpyAsync(&wrong, wrong_, sizeof wrong, cudaMemcpyDeviceToHost, stream_),
                 "reading");
      cuda_check(cudaStreamSynchronize(stream_), "comparing");
      return wrong != 0 ? 0 : 1e3 * total / ms;
    };
    return run(32 * 64, true) == 0 ? 0 : run(requests, false);
  }

  /// Milliseconds of what `work` launches; 0 if it counted a failure, which is printed.
  float timed_if_right(const std::function<void(failures*)>& work) {
    cuda_check(cudaMemsetAsync(failures_, 0, sizeof *failures_, stream_), "clearing");
    const float ms = timed([&] { work(failures_); });
    failures seen;
    cuda_check(cudaMemcpyAsync(&seen, failures_, sizeof seen, cudaMemcpyDeviceToHost, stream_),
               "reading failures");
    cuda_check(cudaStreamSynchronize(stream_), "reading failures");
    if (seen.count == 0) return ms;
    const status first = status::unpack(seen.first);
    std::fprintf(stderr, "%llu failures; the first operation's: code %u, NVMe type %u code %u\n",
                 static_cast<unsigned long long>(seen.count), static_cast<unsigned>(first.code),
                 static_cast<unsigned>(first.nvme_type), static_cast<unsigned>(first.nvme_code));
    return 0;
  }

 private:
  /// Of the rings' words: what an array's node on this GPU and its client use.
  static constexpr cuda::thread_scope ring_scope = cuda::thread_scope_device;
  static constexpr std::uint32_t limit_pages = batch_job::media_pages;
  static constexpr std::uint32_t scratch_pages = 16 * 1024;
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr double copied_bytes = 1e3 * limit_pages * page_bytes;  ///< over milliseconds

  hardware() {
    cuda_check(cudaHostAlloc(&pinned_, limit_pages * page_bytes, cudaHostAllocMapped), "pinning");
    cuda_check(cudaHostAlloc(&pinned_scratch_, scratch_pages * page_bytes, cudaHostAllocMapped),
               "pinning");
    cuda_check(cudaMalloc(&local_, limit_pages * page_bytes), "GPU memory");
    cuda_check(cudaMalloc(&local_scratch_, scratch_pages * page_bytes), "GPU memory");
    cuda_check(cudaMalloc(&page_, 32 * page_bytes), "GPU memory");
    cuda_check(cudaMalloc(&failures_, sizeof *failures_), "GPU memory");
    cuda_check(cudaMalloc(&wrong_, sizeof *wrong_), "GPU memory");
    cuda_check(cudaMalloc(&ring_, sizeof *ring_), "GPU memory");
    cuda_check(cudaMalloc(&batches_, sizeof *batches_), "GPU memory");
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    cuda_check(cudaStreamCreateWithFlags(&server_, cudaStreamNonBlocking), "stream");
    cuda_check(cudaEventCreate(&begin_), "event");
    cuda_check(cudaEventCreate(&end_), "event");
    for (const void* one :
         {reinterpret_cast<const void*>(&copy_pages), reinterpret_cast<const void*>(&fill_pages),
          reinterpret_cast<const void*>(&check_pages),
          reinterpret_cast<const void*>(&serve_ring<ring_scope>),
          reinterpret_cast<const void*>(&ask_ring<ring_scope>),
          reinterpret_cast<const void*>(&serve_batches<ring_scope>),
          reinterpret_cast<const void*>(&ask_batches<ring_scope>)})
      kernels().push_back(one);
    load_kernels();
    check_limits();
  }

  /// Loads and stores once and compares every byte. The limits leave the pattern in both memories,
  /// where the rings find it.
  void check_limits() {
    fill_pages<<<128, 256, 0, stream_>>>(words(pinned_), 0, limit_pages);
    (void)load_limit();
    cuda_check(cudaMemsetAsync(pinned_, 0, limit_pages * page_bytes, stream_), "clearing");
    (void)store_limit();
    if (wrong_pages(pinned_, 0, limit_pages) != 0)
      throw std::runtime_error("the limit's copies left wrong bytes");
  }
  std::uint64_t wrong_pages(uint4* at, std::uint64_t first, std::uint32_t pages) {
    cuda_check(cudaMemsetAsync(wrong_, 0, sizeof *wrong_, stream_), "clearing");
    check_pages<<<128, 256, 0, stream_>>>(words(at), first, pages, wrong_);
    std::uint64_t wrong = 0;
    cuda_check(cudaMemcpyAsync(&wrong, wrong_, sizeof wrong, cudaMemcpyDeviceToHost, stream_),
               "reading");
    cuda_check(cudaStreamSynchronize(stream_), "comparing");
    return wrong;
  }
  static std::uint64_t* words(uint4* at) { return reinterpret_cast<std::uint64_t*>(at); }

  cudaStream_t stream_ = nullptr;
  cudaStream_t server_ = nullptr;
  uint4* pinned_ = nullptr;
  uint4* pinned_scratch_ = nullptr;
  uint4* local_ = nullptr;
  uint4* local_scratch_ = nullptr;
  uint4* page_ = nullptr;
  failures* failures_ = nullptr;
  std::uint64_t* wrong_ = nullptr;
  bare_ring* ring_ = nullptr;
  batch_channel* batches_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace gnstor::benchmarks

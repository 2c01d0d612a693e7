/// Paging on a GPU over a fake disk in device memory: the same bodies as on the host runtime.
#include "memory/device_array.cuh"
#include "paging.hpp"
#include "quiet.hpp"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

template <class Kernel, class... Args>
__global__ void run_body(Kernel body, Args... args) {
  simt::lane<> lane;
  body(lane, args...);
}

/// An array of `T` on a fake disk, all in device memory.
template <class T, bool Atomic>
class gpu_rig {
 public:
  using cache_type = page_cache<fake_store<Atomic>>;

  explicit gpu_rig(rig_shape shape)
      : shape_(shape),
        content_(std::size_t{shape.pages} * shape.page_words),
        frames_(std::size_t{shape.frames} * shape.page_words),
        plan_(shape.pages),
        page_io_(shape.pages),
        frame_use_(shape.frames),
        twin_(sizeof(array_view<T, fake_store<Atomic>>)),
        saw_(1),
        lanes_(1),
        expected_(count()),
        words_(lines(cache_type::bytes(shape.pages, shape.frames))),
        ring_(lines(cache_type::ring_bytes(shape.frames))) {}

  std::size_t count() const { return 8ull * shape_.page_words * shape_.pages / sizeof(T); }
  disk disk_ref() const {
    disk d;
    d.content = content_.data();
    d.page_words = shape_.page_words;
    d.frames = reinterpret_cast<std::uint64_t>(frames_.data());
    d.plan = plan_.data();
    d.page_io = page_io_.data();
    d.frame_use = frame_use_.data();
    d.record = saw_.data();
    d.delay = shape_.delay;
    return d;
  }
  array_view<T, fake_store<Atomic>> view() const {
    const io_buffer memory{reinterpret_cast<std::uint64_t>(frames_.data()),
                           8ull * shape_.page_words * shape_.frames, 0, 0};
    const cache_type cache(fake_store<Atomic>(disk_ref()), words_.data(), shape_.pages,
                           frame_ring(ring_.data(), shape_.frames), memory);
    auto* twin = reinterpret_cast<array_view<T, fake_store<Atomic>>*>(twin_.data());
    const array_view<T, fake_store<Atomic>> view(cache, count(), shape_.timeout_ns, twin);
    REQUIRE(cudaMemcpy(twin, &view, sizeof view, cudaMemcpyHostToDevice) == cudaSuccess);
    return view;
  }
  T* expected() const { return expected_.data(); }
  access_record* lanes() const { return lanes_.data(); }

  template <class Kernel, class... Args>
  void run(unsigned grid, unsigned block, Kernel body, Args... args) {
    run_body<<<grid, block>>>(body, args...);
    REQUIRE(cudaGetLastError() == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }

  /// Flushes, and checks everything there is to check.
  void check() {
    CHECK(check_words<typename cache_type::words_type>(words_.read(), ring_.read(), shape_) == "");
    run(4, 128, flush_all{}, view(), lanes());
    const disk_record saw = saw_.read()[0];
    CHECK(saw.page_twice == 0);
    CHECK(saw.frame_in_use == 0);
    CHECK(saw.fetches > 0);
    const access_record lanes = lanes_.read()[0];
    CHECK(lanes.wrong == 0);
    CHECK(lanes.failed == 0);
    const auto words = words_.read();
    CHECK(check_words<typename cache_type::words_type>(words, ring_.read(), shape_) == "");
    MESSAGE("pages in " << state_in(words).counters.pages_in << ", evictions "
                        << state_in(words).counters.evictions);
    const auto on_disk = content_.read();
    const auto expected = expected_.read();
    CHECK(std::memcmp(on_disk.data(), expected.data(), expected.size() * sizeof(T)) == 0);
  }

 private:
  rig_shape shape_;
  device_array<std::uint64_t> content_;
  device_array<std::uint64_t> frames_;
  device_array<std::uint32_t> plan_;
  device_array<std::uint32_t> page_io_;
  device_array<std::uint32_t> frame_use_;
  device_array<unsigned char> twin_;
  device_array<disk_record> saw_;
  device_array<access_record> lanes_;
  device_array<T> expected_;
  device_array<word_line> words_;
  device_array<word_line> ring_;
};

template <class T>
void random_run(rig_shape shape, unsigned grid, unsigned block, std::uint32_t rounds) {
  gpu_rig<T, false> r(shape);
  r.run(grid, block, random_elements<T>{.rounds = rounds, .seed = 1}, r.view(), r.expected(),
        r.lanes());
  r.check();
}

constexpr std::uint64_t patience_ns = 20'000'000'000;

}  // namespace

TEST_CASE("every element keeps what its owner wrote, few frames") {
  const rig_shape shape{.pages = 256, .frames = 40, .page_words = 64, .timeout_ns = patience_ns};
  random_run<std::uint8_t>(shape, 16, 128, 20);
  random_run<std::uint32_t>(shape, 16, 128, 20);
  random_run<std::uint64_t>(shape, 16, 128, 20);
  random_run<wide>(shape, 16, 128, 20);
}

TEST_CASE("every element keeps what its owner wrote, a device full of threads") {
  random_run<std::uint32_t>(
      {.pages = 4096, .frames = 1024, .page_words = 512, .timeout_ns = patience_ns}, 132, 512, 20);
}

TEST_CASE("pinned pages stay and keep their words") {
  gpu_rig<std::uint64_t, true> r(
      {.pages = 256, .frames = 64, .page_words = 64, .delay = 2, .timeout_ns = patience_ns});
  r.run(16, 128, pinned_words{.rounds = 40, .seed = 1}, r.view(), r.disk_ref(), r.expected(),
        r.lanes());
  r.check();
}

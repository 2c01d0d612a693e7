/// Paging from mapped memory on a GPU: the same bodies as on the host runtime.
#include "memory/device_array.cuh"
#include "paging.hpp"
#include "quiet.hpp"
#include <gnstor/array/mapped_array.hpp>
#include <gnstor/array/mapped_store.hpp>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

template <class Kernel, class... Args>
__global__ void run_mapped(Kernel body, Args... args) {
  simt::lane<> lane;
  body(lane, args...);
}

/// Mapped memory whose pages of a few hundred bytes have several chunks.
struct quarter_pages : mapped_store {
  using mapped_store::mapped_store;
  static constexpr std::uint32_t chunk_bytes = 128;
};

/// An array of `T` on memory that lies on the device, too: lanes copy from there as from the host.
template <class T, mapped_page_store Store = mapped_store>
class gpu_mapped_rig {
 public:
  using view_type = array_view<T, Store>;
  using cache_type = typename view_type::cache_type;

  explicit gpu_mapped_rig(rig_shape shape)
      : shape_(shape),
        content_(std::size_t{shape.pages} * shape.page_words),
        frames_(std::size_t{shape.frames} * shape.page_words),
        frame_use_(shape.frames),
        twin_(sizeof(view_type)),
        lanes_(1),
        expected_(count()),
        words_(lines(cache_type::bytes(shape.pages, shape.frames))),
        ring_(lines(cache_type::ring_bytes(shape.frames))) {}

  /// The last page is cut short.
  std::size_t count() const { return 8ull * shape_.page_words * shape_.pages / sizeof(T) - 1; }
  disk watch() const {
    disk d;
    d.page_words = shape_.page_words;
    d.frames = reinterpret_cast<std::uint64_t>(frames_.data());
    d.frame_use = frame_use_.data();
    return d;
  }
  view_type view() const {
    const Store store(content_.data(), count() * sizeof(T), 8 * shape_.page_words);
    const io_buffer memory{reinterpret_cast<std::uint64_t>(frames_.data()),
                           8ull * shape_.page_words * shape_.frames, 0, 0};
    const cache_type pages(store, words_.data(), shape_.pages,
                           frame_ring(ring_.data(), shape_.frames), memory);
    auto* twin = reinterpret_cast<view_type*>(twin_.data());
    const view_type view(pages, count(), shape_.timeout_ns, twin);
    REQUIRE(cudaMemcpy(twin, &view, sizeof view, cudaMemcpyHostToDevice) == cudaSuccess);
    return view;
  }
  T* expected() const { return expected_.data(); }
  access_record* lanes() const { return lanes_.data(); }

  template <class Kernel, class... Args>
  void run(unsigned grid, unsigned block, Kernel body, Args... args) {
    run_mapped<<<grid, block>>>(body, args...);
    REQUIRE(cudaGetLastError() == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }

  /// Flushes, and checks everything there is to check.
  void check() {
    CHECK(check_words<typename cache_type::words_type>(words_.read(), ring_.read(), shape_) == "");
    run(4, 128, flush_warps{}, view(), lanes());
    const access_record lanes = lanes_.read()[0];
    CHECK(lanes.wrong == 0);
    CHECK(lanes.failed == 0);
    const auto words = words_.read();
    CHECK(check_words<typename cache_type::words_type>(words, ring_.read(), shape_) == "");
    MESSAGE("pages in " << state_in(words).counters.pages_in << ", evictions "
                        << state_in(words).counters.evictions);
    const auto content = content_.read();
    const auto expected = expected_.read();
    CHECK(std::memcmp(content.data(), expected.data(), expected.size() * sizeof(T)) == 0);
  }

 private:
  rig_shape shape_;
  device_array<std::uint64_t> content_;
  device_array<std::uint64_t> frames_;
  device_array<std::uint32_t> frame_use_;
  device_array<unsigned char> twin_;
  device_array<access_record> lanes_;
  device_array<T> expected_;
  device_array<word_line> words_;
  device_array<word_line> ring_;
};

template <class T, class Store = mapped_store>
void random_run(rig_shape shape, unsigned grid, unsigned block, std::uint32_t rounds) {
  gpu_mapped_rig<T, Store> r(shape);
  r.run(grid, block, random_elements<T>{.rounds = rounds, .seed = 1}, r.view(), r.expected(),
        r.lanes());
  r.check();
}

/// Each lane counts elements of one of two arrays up, by its parity.
struct count_either {
  struct shared {};
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View even, View odd, std::uint64_t* of_even,
                            std::uint64_t* of_odd) const {
    const bool is_even = lane.thread() % 2 == 0;
    const View& mine = is_even ? even : odd;
    std::uint64_t* const expected = is_even ? of_even : of_odd;
    for (std::uint64_t i = lane.global_thread(); i < mine.size(); i += lane.grid_threads()) {
      mine[i] += i + 1;
      expected[i] += i + 1;
    }
  }
};

constexpr std::uint64_t patience_ns = 20'000'000'000;

}  // namespace

TEST_CASE("mapped elements keep what their owner wrote, few frames") {
  const rig_shape shape{.pages = 256, .frames = 40, .page_words = 64, .timeout_ns = patience_ns};
  random_run<std::uint8_t>(shape, 16, 128, 20);
  random_run<std::uint32_t>(shape, 16, 128, 20);
  random_run<std::uint64_t>(shape, 16, 128, 20);
  random_run<wide>(shape, 16, 128, 20);
}

TEST_CASE("lanes of a warp use two mapped arrays, each with pages of its own length") {
  const rig_shape shape{.pages = 256, .frames = 40, .page_words = 64, .timeout_ns = patience_ns};
  rig_shape longer = shape;
  longer.page_words = 1024;
  gpu_mapped_rig<std::uint64_t> even(shape), odd(longer);
  for (int round = 0; round < 3; ++round)
    even.run(16, 128, count_either{}, even.view(), odd.view(), even.expected(), odd.expected());
  even.check();
  odd.check();
}

TEST_CASE("mapped elements keep what their owner wrote, a device full of threads") {
  random_run<std::uint32_t>(
      {.pages = 4096, .frames = 1024, .page_words = 512, .timeout_ns = patience_ns}, 132, 256, 20);
}

TEST_CASE("mapped elements keep what their owner wrote, pages in chunks") {
  const rig_shape shape{.pages = 256, .frames = 40, .page_words = 64, .timeout_ns = patience_ns};
  random_run<std::uint32_t, quarter_pages>(shape, 16, 128, 20);
  random_run<wide, quarter_pages>(shape, 16, 128, 20);
  random_run<std::uint64_t>(
      {.pages = 300, .frames = 80, .page_words = 8192, .timeout_ns = patience_ns}, 132, 256, 10);
}

TEST_CASE("mapped elements that straddle pages keep what their owner wrote") {
  using three_floats = words_of<std::uint32_t, 3>;
  using five_words = words_of<std::uint64_t, 5>;
  const rig_shape shape{.pages = 4096, .frames = 3000, .page_words = 64, .timeout_ns = patience_ns};
  random_run<three_floats>(shape, 16, 128, 40);
  random_run<five_words>(shape, 16, 128, 40);
  random_run<three_floats, quarter_pages>(shape, 16, 128, 40);
}

namespace {

/// What `read_together` finds: each element says where it lies.
struct number_all {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint64_t* expected) const {
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads())
      view[i] = expected[i] = mix64(i);
  }
};

template <class Store>
void together_run() {
  gpu_mapped_rig<std::uint64_t, Store> r(
      {.pages = 256, .frames = 64, .page_words = 64, .timeout_ns = patience_ns});
  r.run(16, 128, number_all{}, r.view(), r.expected());
  r.run(16, 128, read_together{.rounds = 40}, r.view(), 1u, r.lanes());
  r.check();
}

}  // namespace

TEST_CASE("lanes that load together read what lies in mapped memory") {
  together_run<mapped_store>();
  together_run<quarter_pages>();
}

namespace {

/// Frames for the three pages of each of 64 warps, and not many more.
template <class Store>
void sets_run() {
  gpu_mapped_rig<std::uint64_t, Store> r(
      {.pages = 256, .frames = 200, .page_words = 64, .timeout_ns = patience_ns});
  device_array<std::uint32_t> refused(1);
  r.run(16, 128, words_of_three{.rounds = 40, .seed = 1}, r.view(), r.watch(), r.expected(),
        r.lanes(), refused.data());
  CHECK(refused.read()[0] == 0);
  r.check();
}

}  // namespace

TEST_CASE("pages of mapped memory held together keep their words") {
  sets_run<mapped_store>();
  sets_run<quarter_pages>();
}

namespace {

__global__ void run_blocks(words_of_blocks body, mapped_array<std::uint64_t> view, disk d,
                           std::uint64_t* expected, access_record* record) {
  __shared__ words_of_blocks::shared memory;
  simt::lane<words_of_blocks::shared> lane(&memory);
  body(lane, view, d, expected, record);
}

}  // namespace

TEST_CASE("pages of mapped memory held by blocks keep their words") {
  gpu_mapped_rig<std::uint64_t> r(
      {.pages = 256, .frames = 64, .page_words = 512, .timeout_ns = patience_ns});
  run_blocks<<<32, 160>>>({.rounds = 40, .seed = 1}, r.view(), r.watch(), r.expected(), r.lanes());
  REQUIRE(cudaGetLastError() == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  r.check();
}

namespace {

template <class Store>
void neighbours_run() {
  gpu_mapped_rig<std::uint64_t, Store> r(
      {.pages = 256, .frames = 64, .page_words = 512, .timeout_ns = patience_ns});
  r.run(16, 128, number_all{}, r.view(), r.expected());
  r.run(16, 128, read_neighbours{.rounds = 100}, r.view(), 1u, r.expected(), r.lanes());
  r.check();
}

}  // namespace

TEST_CASE("who remembers its page of mapped memory reads that page alone") {
  neighbours_run<mapped_store>();
  neighbours_run<quarter_pages>();
}

template <class Store>
void pinned_run() {
  gpu_mapped_rig<std::uint64_t, Store> r(
      {.pages = 256, .frames = 64, .page_words = 64, .timeout_ns = patience_ns});
  r.run(16, 128, pinned_words{.rounds = 40, .seed = 1}, r.view(), r.watch(), r.expected(),
        r.lanes());
  r.check();
}

TEST_CASE("pinned pages of mapped memory keep their words") {
  pinned_run<mapped_store>();
  pinned_run<quarter_pages>();
}

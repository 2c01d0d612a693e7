/// Arrays that share frames, on volumes and on mapped memory.
#include "mapped_kernels.hpp"
#include "refusals.hpp"
#include "under_tsan.hpp"
#include "walk.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/mapped_array.hpp>
#include <gnstor/host/memory_array.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t count = 1 << 14;  ///< elements of 8 bytes: 32 pages of 4 KiB
constexpr host::frame_pool_options pages_of_4k{.frame_bytes = 40 * 4096, .page_bytes = 4096};

using numbers = host::array<std::uint64_t>;
using mapped_numbers = host::mapped_array<std::uint32_t>;

/// Element i of every array becomes i, by kernels of both at once.
struct store_index {
  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads())
      view[i] = static_cast<typename View::value_type>(i);
  }
};

template <class... Arrays>
void store_at_once(host::session* s, Arrays&... arrays) {
  host::executor kernels;
  (kernels.spawn(1, 64, store_index{}, arrays.view()), ...);
  if (s != nullptr) s->attach(kernels);
  kernels.run();
}

std::uint64_t wrong_on(host::session& s, const volume_info& v) {
  std::vector<std::uint64_t> found(count);
  s.read(v, 0, found.data(), 8 * count);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) wrong += found[i] != i ? 1 : 0;
  return wrong;
}

/// Looks from a lane at what the host may do meanwhile.
template <class Action>
struct act_within {
  const Action* action;
  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    if (lane.global_thread() != 0) return;
    (void)static_cast<std::uint64_t>(view[0]);
    (*action)();
  }
};

}  // namespace

TEST_CASE("arrays of a pool take their frames from one another, and lose nothing") {
  host::session s("emu:?capacity=16M");
  const volume_info first = s.create_volume({.bytes = 8 * count});
  const volume_info second = s.create_volume({.bytes = 8 * count});
  host::frame_pool pool(s, pages_of_4k);
  CHECK(pool.frames() == 40);
  numbers a(s, first, count, {.pool = &pool});
  numbers b(s, second, count, {.pool = &pool});
  CHECK(pool.arrays() == 2);
  CHECK(a.frames() == 40);
  store_at_once(&s, a, b);
  CHECK(a.counters().evictions + b.counters().evictions >= 24);
  CHECK(a.get(5) == 5);
  b.set(7, 70);
  CHECK(b.get(7) == 70);
  b.set(7, 7);
  a.close();
  b.close();
  CHECK(pool.arrays() == 0);
  CHECK(wrong_on(s, first) == 0);
  CHECK(wrong_on(s, second) == 0);
}

TEST_CASE("mapped arrays share frames, too, and a closed one leaves them to the rest") {
  host::frame_pool pool(host::mapped_options{}, {.frame_bytes = 64 * 512, .page_bytes = 512});
  host::mapped_memory on_a("host:?bytes=40000"), on_b("host:?bytes=40000");
  auto a = std::make_unique<mapped_numbers>(on_a, 10'000, host::array_options{.pool = &pool});
  mapped_numbers b(on_b, 10'000, {.pool = &pool});
  store_at_once(nullptr, *a, b);
  a->close();
  CHECK(pool.arrays() == 1);
  // All 64 frames are the other's now, and none has to be taken from who is gone.
  const std::uint64_t before = a->counters().evictions;
  for (int round = 0; round < 2; ++round) store_at_once(nullptr, b);
  CHECK(a->counters().evictions == before);
  CHECK(b.counters().pages_in - b.counters().evictions == 64);
  // Its number and its frames go to the next.
  mapped_numbers c(on_a, 10'000, {.pool = &pool});
  CHECK(pool.arrays() == 2);
  store_at_once(nullptr, b, c);
  b.close();
  c.close();
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    CHECK(on_a.as<std::uint32_t>()[i] == i);
    CHECK(on_b.as<std::uint32_t>()[i] == i);
  }
}

TEST_CASE("an array that ends without close gives its frames back") {
  host::frame_pool pool(host::mapped_options{}, {.frame_bytes = 64 * 512, .page_bytes = 512});
  host::mapped_memory on_a("host:?bytes=40000"), on_b("host:?bytes=40000");
  {
    mapped_numbers a(on_a, 10'000, {.pool = &pool});
    store_at_once(nullptr, a);
  }
  CHECK(pool.arrays() == 0);
  mapped_numbers b(on_b, 10'000, {.pool = &pool});
  store_at_once(nullptr, b);
  b.close();
  for (std::uint32_t i = 0; i < 10'000; ++i) CHECK(on_b.as<std::uint32_t>()[i] == i);
}

TEST_CASE("arrays outlive the pool that gave them frames") {
  host::mapped_memory on_a("host:?bytes=40000");
  auto pool = std::make_unique<host::frame_pool>(
      host::mapped_options{}, host::frame_pool_options{.frame_bytes = 64 * 512, .page_bytes = 512});
  mapped_numbers a(on_a, 10'000, {.pool = pool.get()});
  pool.reset();
  store_at_once(nullptr, a);
  a.close();
  CHECK(on_a.as<std::uint32_t>()[9'999] == 9'999);
}

TEST_CASE("an array keeps frames of a pool, and takes no more than it may") {
  host::frame_pool pool(host::mapped_options{}, {.frame_bytes = 96 * 512, .page_bytes = 512});
  host::mapped_memory on_a("host:?bytes=40000"), on_b("host:?bytes=40000");
  mapped_numbers small(on_a, 10'000,
                       {.frame_bytes = 32 * 512, .pool = &pool, .kept_frame_bytes = 16 * 512});
  mapped_numbers large(on_b, 10'000, {.pool = &pool});
  store_at_once(nullptr, small);
  CHECK(small.counters().pages_in - small.counters().evictions <= 34);  // a warp more
  store_at_once(nullptr, large);
  store_at_once(nullptr, large);
  CHECK(small.counters().pages_in - small.counters().evictions == 16);
}

TEST_CASE("a pool refuses what it cannot serve, and says what to do") {
  const auto pool_of = [](std::uint64_t frame_bytes, std::uint32_t page) {
    host::frame_pool(host::mapped_options{}, {.frame_bytes = frame_bytes, .page_bytes = page});
  };
  CHECK(says(refusal_of([&] { pool_of(31 * 512, 512); }),
             "holds 31 pages of 512: give at least 16384 bytes (32 pages)"));
  CHECK(says(refusal_of([&] { pool_of(1 << 20, 3000); }), "array page of 3000 bytes"));

  host::frame_pool pool(host::mapped_options{}, {.frame_bytes = 64 * 512, .page_bytes = 512});
  host::mapped_memory memory("host:?bytes=40000");
  const auto array_with = [&](host::array_options options) {
    options.pool = &pool;
    mapped_numbers(memory, 10'000, options);
  };
  CHECK(says(refusal_of([&] { array_with({.page_bytes = 4096}); }),
             "whose pages have 512: leave page_bytes out"));
  CHECK(says(refusal_of([&] { array_with({.frame_bytes = 31 * 512}); }),
             "give at least 16384 bytes, or 0 for all"));
  CHECK(
      says(refusal_of([&] { array_with({.frame_bytes = 40 * 512, .kept_frame_bytes = 41 * 512}); }),
           "may have 40 frames"));
  CHECK(says(refusal_of([&] { array_with({.kept_frame_bytes = 33 * 512}); }),
             "would keep 33 of its 64 frames, and 32 have to be left"));
  CHECK(pool.arrays() == 0);

  host::session s("emu:?capacity=16M"), other("emu:?capacity=16M");
  const volume_info v = s.create_volume({.bytes = 8 * count});
  CHECK(says(refusal_of([&] { numbers(s, v, count, {.pool = &pool}); }),
             "make the pool of the same session, or with the same mapped_options"));
  host::frame_pool of_other(other, pages_of_4k);
  CHECK(says(refusal_of([&] { numbers(s, v, count, {.pool = &of_other}); }),
             "make the pool of the same session"));
  host::remote_memory remote("emu-memory:?bytes=40000", {.channels = 2, .depth = 8});
  CHECK(
      says(refusal_of([&] { host::memory_array<std::uint32_t>(remote, 10'000, {.pool = &pool}); }),
           "cannot have frames of the frame pool for mapped memory"));
}

TEST_CASE("a pool has 64 arrays at most") {
  host::frame_pool pool(host::mapped_options{}, {.frame_bytes = 64 * 512, .page_bytes = 512});
  host::mapped_memory memory("host:?bytes=40000");
  std::vector<std::unique_ptr<mapped_numbers>> arrays;
  for (int k = 0; k < 64; ++k) {
    arrays.push_back(
        std::make_unique<mapped_numbers>(memory, 1'000, host::array_options{.pool = &pool}));
  }
  CHECK(says(refusal_of([&] { mapped_numbers(memory, 1'000, {.pool = &pool}); }),
             "has 64 arrays: close one, or make another pool"));
  arrays.pop_back();
  mapped_numbers(memory, 1'000, {.pool = &pool}).close();
}

TEST_CASE("while a kernel uses an array of a pool, the others stay as they are") {
  host::frame_pool pool(host::mapped_options{}, {.frame_bytes = 64 * 512, .page_bytes = 512});
  host::mapped_memory on_a("host:?bytes=40000"), on_b("host:?bytes=40000");
  mapped_numbers a(on_a, 10'000, {.pool = &pool}), b(on_b, 10'000, {.pool = &pool});
  (void)b.view();
  std::string making, closing, reading;
  const auto meanwhile = [&] {
    making = refusal_of([&] { mapped_numbers(on_a, 10'000, {.pool = &pool}); });
    closing = refusal_of([&] { b.close(); });
    reading = refusal_of([&] { (void)b.get(0); });
  };
  host::executor kernels;
  kernels.spawn(1, 32, act_within<decltype(meanwhile)>{&meanwhile}, a.view());
  kernels.run();
  CHECK(says(making, "while a kernel or a pager uses the array on"));
  CHECK(says(closing, "cannot close the array on"));
  CHECK(says(reading, "a kernel that uses it, or shares its frames, has not ended"));
  b.close();
  a.close();
}

TEST_CASE("an array that ends while a kernel uses another keeps its number, and its words stay") {
  // Too early is a race: the host looks for dirty pages beside the kernel that takes them.
  if (under_tsan) return;
  host::frame_pool pool(host::mapped_options{}, {.frame_bytes = 64 * 512, .page_bytes = 512});
  host::mapped_memory on_a("host:?bytes=40000"), on_b("host:?bytes=40000");
  mapped_numbers a(on_a, 10'000, {.pool = &pool});
  auto b = std::make_unique<mapped_numbers>(on_b, 10'000, host::array_options{.pool = &pool});
  store_at_once(nullptr, *b);
  // All frames hold pages of `b`, which the kernel goes on to take.
  const auto end = [&] { b.reset(); };
  host::executor kernels;
  kernels.spawn(1, 32, act_within<decltype(end)>{&end}, a.view());
  kernels.spawn(1, 64, store_index{}, a.view());
  kernels.run();
  CHECK(pool.arrays() == 2);
  a.close();
  for (std::uint32_t i = 0; i < 10'000; ++i) CHECK(on_a.as<std::uint32_t>()[i] == i);
}

TEST_CASE("while an array of a pool has a pager, none is made or closed") {
  host::session s("emu:?capacity=16M");
  const volume_info first = s.create_volume({.bytes = 8 * count});
  const volume_info second = s.create_volume({.bytes = 8 * count});
  host::frame_pool pool(s, pages_of_4k);
  numbers a(s, first, count, {.pool = &pool});
  numbers b(s, second, count, {.pool = &pool});
  {
    host::pager served = a.serve(simt::stream{});
    CHECK(says(refusal_of([&] { b.close(); }), "while a kernel or a pager uses the array on"));
    CHECK(says(refusal_of([&] { numbers(s, first, count, {.pool = &pool}); }),
               "wait for it, or stop it"));
    CHECK(says(refusal_of([&] { b.take_frames_back(); }), "cannot take back frames of"));
    served.stop();
  }
  b.close();
  a.close();
}

TEST_CASE("an array that cannot be made takes no number of a pool") {
  {
    // It has joined when it turns out that kernels have no channel to its volume.
    host::session s("emu:?capacity=16M", {.channels = 0});
    const volume_info v = s.create_volume({.bytes = 8 * count});
    host::frame_pool of_volumes(s, pages_of_4k);
    CHECK(says(refusal_of([&] { numbers(s, v, count, {.pool = &of_volumes}); }), "channels"));
    CHECK(of_volumes.arrays() == 0);
  }
  host::frame_pool pool(host::mapped_options{}, {.frame_bytes = 64 * 512, .page_bytes = 512});
  host::mapped_memory memory("host:?bytes=40000");
  // Nor does one that is moved take another.
  mapped_numbers a(memory, 10'000, {.pool = &pool});
  mapped_numbers b(std::move(a));
  CHECK(pool.arrays() == 1);
  store_at_once(nullptr, b);
  b.close();
  CHECK(pool.arrays() == 0);
}

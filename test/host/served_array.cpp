/// A pager beside the kernels of the host runtime.
#include "served_array.hpp"

#include "refusals.hpp"
#include "under_tsan.hpp"
#include <gnstor/host/error.hpp>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

/// ThreadSanitizer is ten times slower, and sees as much in half.
constexpr std::uint64_t walked_items = under_tsan ? 1 << 15 : 1 << 16;

struct read_first {
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint32_t* got) const {
    if (lane.global_thread() == 0) *got = view[0];
  }
};

struct count_in_one {
  template <class Lane, class View>
  void operator()(Lane&, View view) const {
    (void)atomicAdd(view[1], 2.5f);
    view[2000] *= 3.0f;
  }
};

struct fail_at_once {
  template <class Lane, class View>
  void operator()(Lane&, View) const {
    throw std::runtime_error("the kernel failed");
  }
};

/// An array of 4096 numbers on host memory.
struct small_array {
  host::mapped_memory memory{"host:?bytes=16384"};
  host::mapped_array<std::uint32_t> array{memory, 4096, {.page_bytes = 4096}};

  small_array() { memory.as<std::uint32_t>()[0] = 7; }
  /// The first element, by a kernel whose faults are served.
  std::uint32_t first() {
    std::uint32_t got = ~0u;
    run_served(nullptr, array, {.grid = 1, .block = 32}, read_first{}, &got);
    return got;
  }
};

}  // namespace

TEST_CASE("every rule for frames keeps what kernels wrote, cleaners beside them") {
  for (const eviction how : {eviction::fifo, eviction::clock, eviction::resist_scans}) {
    CAPTURE(static_cast<int>(how));
    walk_served("emu:?capacity=4M",
                {.grid = 2, .block = 64, .pagers = 2, .how = how, .cleaners = 1}, walked_items);
    add_to_served_memory({.grid = 2, .block = 64, .pagers = 1, .how = how, .cleaners = 1},
                         under_tsan ? 140'001 : 200'001);
  }
}

TEST_CASE("a node that runs beside the kernels alone ends after the cleaners of a pager") {
  for (int k = 0; k < (under_tsan ? 2 : 5); ++k) {
    walk_served("emu:?capacity=4M&runner=sim", {.grid = 2, .block = 64, .pagers = 2, .cleaners = 2},
                walked_items);
  }
}

TEST_CASE("two kernels at once share 32 frames") {
  share_few_frames("emu:?capacity=4M", {.grid = 2, .block = 64, .pagers = 1}, 1 << 15);
}

TEST_CASE("a pager fetches what kernels miss of a volume, and writes back what they changed") {
  const served_shape shape{.grid = 4, .block = 64};
  walk_served("emu:?capacity=16M", shape, walked_items);
  walk_served("emu:?capacity=16M", {.grid = 4, .block = 64, .pagers = 8}, walked_items);
  walk_served("emu:?capacity=16M&transport=proxy", shape, walked_items);
  if (!under_tsan) walk_served("emu:?capacity=16M&runner=sim&lanes=8", shape, walked_items);
}

TEST_CASE("a pager copies pages of host memory") {
  add_to_served_memory({.grid = 2, .block = 64}, 140'001);
  add_to_served_memory({.grid = 2, .block = 64, .pagers = 3}, 140'001);
}

TEST_CASE("numbers are added to in one step through view[i], whoever fetches") {
  host::mapped_memory memory("host:?bytes=16384");
  memory.as<float>()[2000] = 1;
  host::mapped_array<float> a(memory, 4096, {.frame_bytes = 4 * 4096, .page_bytes = 4096});
  run_served(nullptr, a, {.grid = 1, .block = 1}, count_in_one{});
  host::executor machine;
  machine.spawn(
      4, 64, [](auto&, auto view) { (void)atomicAdd(view[1], 2.5f); }, a.view());
  machine.run();
  a.close();
  CHECK(memory.as<float>()[1] == 2.5f * 257);
  CHECK(memory.as<float>()[2000] == 3);
}

TEST_CASE("where nobody serves faults a kernel fails at once, and the remedy is named") {
  host::mapped_memory memory("host:?bytes=16384");
  memory.as<std::uint32_t>()[0] = 7;
  host::mapped_array<std::uint32_t> a(memory, 4096, {.page_bytes = 4096});
  std::uint32_t got = 0;
  host::executor alone;
  alone.spawn(1, 32, read_first{}, a.served_view(), &got);
  alone.run();
  CHECK(got == 0xdbdbdbdb);
  CHECK(says(refusal_of([&] { a.flush(); }), "array::attach"));
  a.clear_errors();
  run_served(nullptr, a, {.grid = 1, .block = 32}, read_first{}, &got);
  CHECK(got == 7);
  a.close();
}

TEST_CASE("an array has one pager at a time, of a shape that a GPU takes") {
  host::mapped_memory memory("host:?bytes=16384");
  host::mapped_array<std::uint32_t> a(memory, 4096, {.page_bytes = 4096});
  host::executor one, two;
  for (const std::uint32_t warps : {5u, 1028u})
    CHECK(says(refusal_of([&] { a.attach(one, {.warps = warps}); }), "multiple of 4"));
  a.attach(one);
  CHECK(says(refusal_of([&] { a.attach(two); }), "in another run"));
  std::uint32_t got = 1;
  one.spawn(1, 32, read_first{}, a.served_view(), &got);
  one.run();
  CHECK(got == 0);
  a.attach(two);
  two.spawn(1, 32, read_first{}, a.served_view(), &got);
  two.run();
  a.close();
}

TEST_CASE("an array is free for another pager when the run of its first never comes, or fails") {
  small_array a;
  {
    host::executor never;
    a.array.attach(never);
    CHECK(says(refusal_of([&] { a.array.close(); }), "in another run"));
  }
  CHECK(a.first() == 7);
  host::executor failing;
  failing.spawn(1, 1, fail_at_once{}, a.array.served_view());
  a.array.attach(failing);
  CHECK_THROWS_WITH_AS(failing.run(), doctest::Contains("the kernel failed"), std::runtime_error);
  CHECK(a.first() == 7);
  // It moves with its executor.
  host::executor moved;
  {
    host::executor first;
    a.array.attach(first);
    moved = std::move(first);
  }
  CHECK(says(refusal_of([&] { (void)a.first(); }), "in another run"));
  moved = host::executor();
  CHECK(a.first() == 7);
  a.array.close();
}

TEST_CASE("an executor may end after the array that it was to serve") {
  host::executor late;
  {
    small_array a;
    a.array.attach(late);
  }
  CHECK(late.has_services());
}

TEST_CASE("a pager sends all commands of a long page, and takes their answers") {
  host::session s("emu:?capacity=8M&runner=sim", {.channels = 1});
  constexpr std::uint64_t items = 3 << 15;  // three pages of four stripes, the last one cut short
  const volume_info v = s.create_volume({.bytes = 8 * items});
  std::vector<std::uint64_t> numbers(items);
  for (std::uint64_t i = 0; i < items; ++i) numbers[i] = walked(i, 0);
  s.write(v, 0, numbers.data(), 8 * items);
  host::array<std::uint64_t> a(s, v, items, {.page_bytes = 256 << 10});
  const std::uint64_t before = s.channels()[0].counters().submitted;
  std::uint64_t wrong = 0;
  run_served(&s, a, {.grid = 1, .block = 32, .pagers = 1}, check_pages{.round = 0}, &wrong);
  CHECK(wrong == 0);
  CHECK(s.channels()[0].counters().submitted - before == 3 * 4);
  a.close();
}

#pragma once
/// What this CPU does to an array between kernels: the same on volumes and on memory, on a
/// CPU and on a GPU.

#include <gnstor/host/mapped_array.hpp>
#include <gnstor/host/memory_array.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace gnstor::test {

constexpr std::uint64_t access_count = 10'000;  ///< elements of 4 bytes: 10 pages of 4 KiB
constexpr gnstor::host::array_options access_paging{.frame_bytes = 10 * 4096, .page_bytes = 4096};

/// Adds `step` to every element by `view[i]`; counts those that were not `before` + index.
struct add_and_check {
  std::uint32_t before = 0;
  std::uint32_t step = 0;

  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint64_t* wrong) const {
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads()) {
      if (view[i] != before + static_cast<std::uint32_t>(i))
        device_word<std::uint64_t>(*wrong).fetch_add(1, relaxed);
      if (step != 0) view[i] += step;
    }
  }
};

/// Closes an array whatever it holds: what a test leaves is not to be reported.
template <class Array>
void close_quietly(Array& a) {
  try {
    a.close();
  } catch (const gnstor::host::error&) {
    // It was looked at, or is none of the test's.
  }
}

/// An array on a volume of an emulated array node.
class volume_rig {
 public:
  using array_type = gnstor::host::array<std::uint32_t>;

  explicit volume_rig(const gnstor::host::array_options& paging = access_paging,
                      const char* endpoint = "emu:?capacity=16M&runner=cpu")
      : session(endpoint),
        volume(session.create_volume({.bytes = 10 * 4096})),
        array(session, volume, access_count, paging) {}
  ~volume_rig() { close_quietly(array); }

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, const Args&... args) {
    gnstor::host::executor kernels;
    kernels.spawn(2, 64, kernel, args...);
    session.attach(kernels);
    kernels.run();
  }
  gnstor::host::memory_block allocate() { return session.allocate(8); }

  gnstor::host::session session;
  volume_info volume;
  array_type array;
};

/// The same on host memory.
class memory_rig {
 public:
  using array_type = gnstor::host::mapped_array<std::uint32_t>;

  explicit memory_rig(const gnstor::host::array_options& paging = access_paging)
      : memory("host:?bytes=40000"), array(memory, access_count, paging) {}
  ~memory_rig() { close_quietly(array); }

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, const Args&... args) {
    gnstor::host::executor kernels;
    kernels.spawn(2, 64, kernel, args...);
    kernels.run();
  }
  gnstor::host::memory_block allocate() {
    using gnstor::host::place;
    constexpr bool gpu = gnstor::host::this_machine == gnstor::host::machine::gpu;
    return gnstor::host::memory_block(gpu ? place::device : place::host, 8);
  }

  gnstor::host::mapped_memory memory;
  array_type array;
};

/// The same on memory of an emulated peer.
class remote_rig {
 public:
  using array_type = gnstor::host::memory_array<std::uint32_t>;

  explicit remote_rig(const gnstor::host::array_options& paging = access_paging)
      : memory("emu-memory:?bytes=40000", {.channels = 2, .depth = 8}),
        array(memory, access_count, paging) {}
  ~remote_rig() { close_quietly(array); }

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, const Args&... args) {
    gnstor::host::executor kernels;
    kernels.spawn(2, 64, kernel, args...);
    memory.attach(kernels);
    kernels.run();
  }
  gnstor::host::memory_block allocate() {
    using gnstor::host::place;
    constexpr bool gpu = gnstor::host::this_machine == gnstor::host::machine::gpu;
    return gnstor::host::memory_block(gpu ? place::device : place::host, 8);
  }

  gnstor::host::remote_memory memory;
  array_type array;
};

template <class Rig>
std::uint64_t wrong_in_kernel(Rig& r, add_and_check kernel) {
  const gnstor::host::memory_block wrong = r.allocate();
  r.run(kernel, r.array.view(), static_cast<std::uint64_t*>(wrong.data()));
  std::uint64_t count = 0;
  wrong.read(0, &count, sizeof count);
  return count;
}

/// Elements that the host reads otherwise than `before` + index.
template <class Rig>
std::uint64_t wrong_on_host(Rig& r, std::uint32_t before) {
  std::vector<std::uint32_t> all(access_count);
  r.array.read(0, access_count, all.data());
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < access_count; ++i) wrong += all[i] != before + i ? 1 : 0;
  return wrong;
}

/// Host and kernels take turns; each finds what the other has left, whatever pages are in frames.
template <class Rig>
void take_turns(Rig& r) {
  std::vector<std::uint32_t> numbers(access_count);
  std::iota(numbers.begin(), numbers.end(), 5u);
  r.array.write(0, access_count, numbers.data());
  CHECK(wrong_in_kernel(r, {.before = 5, .step = 1}) == 0);
  CHECK(wrong_on_host(r, 6) == 0);
  std::iota(numbers.begin(), numbers.end(), 100u);
  // Its ends lie within pages of which a kernel has written the rest.
  r.array.write(0, 3000, numbers.data());
  r.array.write(3000, 4001, numbers.data() + 3000);
  r.array.write(7001, access_count - 7001, numbers.data() + 7001);
  CHECK(wrong_in_kernel(r, {.before = 100, .step = 1}) == 0);
  CHECK(r.array.get(access_count - 1) == 101 + access_count - 1);
  r.array.set(1500, 7);
  CHECK(r.array.get(1500) == 7);
  CHECK(r.array.get(1499) == 101 + 1499);
  CHECK(wrong_in_kernel(r, {.before = 101}) == 1);
  r.array.set(1500, 101 + 1500);
  CHECK(wrong_in_kernel(r, {.before = 101}) == 0);
  r.array.close();
  CHECK(wrong_on_host(r, 101) == 0);
}

}  // namespace gnstor::test

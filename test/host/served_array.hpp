#pragma once
/// Arrays whose faults a pager serves, end to end: the same on a CPU and on a GPU.

#include "mapped_kernels.hpp"
#include "walk.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/mapped_array.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace gnstor::test {

/// What a kernel of a test runs with: its shape, and the array's pager.
struct served_shape {
  std::uint32_t grid;
  std::uint32_t block;
  std::uint32_t pagers = 0;
  eviction how = eviction::fifo;
  std::uint32_t cleaners = 0;
  duration start_timeout = std::chrono::minutes(1);
};

template <class Array, class Kernel, class... Args>
void run_served(gnstor::host::session* s, Array& a, const served_shape& shape, Kernel kernel,
                Args... args) {
  gnstor::host::executor machine;
  machine.spawn(shape.grid, shape.block, kernel, a.served_view(), args...);
  if (s != nullptr) s->attach(machine);
  a.attach(
      machine,
      {.warps = shape.pagers, .cleaners = shape.cleaners, .start_timeout = shape.start_timeout});
  machine.run();
}

/// The frames that kernels of four warps need at least, each fetching eight pages at once.
inline constexpr std::uint64_t fewest_frames = 32;

/// Fills a volume, changes it in two rounds through an array with a quarter of its pages in frames,
/// or a few more where that is not enough, and reads it back.
inline void walk_served(const std::string& endpoint, const served_shape& shape,
                        std::uint64_t items) {
  CAPTURE(endpoint);
  gnstor::host::session s(endpoint);
  const volume_info v = s.create_volume({.bytes = 8 * items});
  std::vector<std::uint64_t> numbers(items);
  for (std::uint64_t i = 0; i < items; ++i) numbers[i] = walked(i, 0);
  s.write(v, 0, numbers.data(), 8 * items);
  gnstor::host::array<std::uint64_t> a(s, v, items,
                                       {.frame_bytes = std::max(2 * items, fewest_frames * 4096),
                                        .page_bytes = 4096,
                                        .eviction = shape.how});
  const gnstor::host::memory_block wrong(s.client_place(), 8, s.options().device);
  auto* const count = static_cast<std::uint64_t*>(wrong.data());
  for (std::uint64_t round = 0; round < 2; ++round)
    run_served(&s, a, shape, add_to_all{.round = round}, count);
  run_served(&s, a, shape, check_pages{.round = 2}, count);
  std::uint64_t bad = 1;
  wrong.read(0, &bad, 8);
  CHECK(bad == 0);
  a.flush();
  CHECK(a.counters().io_errors == 0);
  CHECK(a.counters().evictions > 0);
  s.read(v, 0, numbers.data(), 8 * items);
  bad = 0;
  for (std::uint64_t i = 0; i < items; ++i) bad += numbers[i] != walked(i, 2) ? 1 : 0;
  CHECK(bad == 0);
  a.close();
}

/// Adds to every element of an array on host memory.
inline void add_to_served_memory(const served_shape& shape, std::uint32_t items) {
  gnstor::host::mapped_memory memory("host:?bytes=" + std::to_string(4 * items));
  auto* const data = memory.as<std::uint32_t>();
  for (std::uint32_t i = 0; i < items; ++i) data[i] = i;
  gnstor::host::mapped_array<std::uint32_t> a(
      memory, items,
      {.frame_bytes = items / 4096 * 4096, .page_bytes = 4096, .eviction = shape.how});
  for (int round = 0; round < 2; ++round) run_served(nullptr, a, shape, add_index{});
  CHECK(a.counters().evictions > 0);
  a.close();
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < items; ++i) wrong += data[i] != 3 * i;
  CHECK(wrong == 0);
}

/// Adds to every second element, from `first` on.
struct add_to_half {
  std::uint64_t first;
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view) const {
    const std::uint64_t step = 2 * std::uint64_t{lane.grid_threads()};
    for (std::uint64_t i = first + 2 * std::uint64_t{lane.global_thread()}; i < view.size();
         i += step)
      view[i] += static_cast<std::uint64_t>(i);
  }
};

/// Two kernels at once change neighbouring elements of one array with 32 frames.
inline void share_few_frames(const std::string& endpoint, const served_shape& shape,
                             std::uint64_t items) {
  CAPTURE(endpoint);
  gnstor::host::session s(endpoint);
  const volume_info v = s.create_volume({.bytes = 8 * items});
  gnstor::host::array<std::uint64_t> a(s, v, items,
                                       {.frame_bytes = fewest_frames * 4096,
                                        .page_bytes = 4096,
                                        .timeout = std::chrono::seconds(60),
                                        .eviction = shape.how});
  a.fill(7);
  gnstor::host::executor machine;
  for (const std::uint64_t half : {0u, 1u})
    machine.spawn(shape.grid, shape.block, add_to_half{half}, a.served_view());
  s.attach(machine);
  a.attach(machine, {.warps = shape.pagers, .cleaners = shape.cleaners});
  machine.run();
  std::vector<std::uint64_t> numbers(items);
  a.read(0, items, numbers.data());
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < items; ++i) wrong += numbers[i] != 7 + i;
  CHECK(wrong == 0);
  CHECK(a.counters().evictions > 0);
  a.close();
}

}  // namespace gnstor::test

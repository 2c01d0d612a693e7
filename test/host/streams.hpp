#pragma once
/// An array that is written and flushed in the order of a caller's stream: the same on a CPU and on
/// a GPU.

#include <gnstor/host/array.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace gnstor::test {

/// Adds `step` to every element, a lane per element in turn.
struct add_step {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint32_t step) const {
    for (std::uint64_t k = lane.global_thread(); k < view.size(); k += lane.grid_threads())
      view[k] += step;
  }
};

/// Several rounds of a kernel and a flush are enqueued; the CPU waits only at the end.
inline void rounds_on_a_stream(const std::string& endpoint, simt::stream order) {
  CAPTURE(endpoint);
  constexpr std::uint32_t items = 40'000;
  constexpr std::uint32_t rounds = 4;
  gnstor::host::session s(endpoint);
  const volume_info v = s.create_volume({.bytes = items * 4 + 4096});
  gnstor::host::array<std::uint32_t> a(s, v, items, {.page_bytes = 4096});
  gnstor::host::executor kernels(order);
  for (std::uint32_t k = 1; k <= rounds; ++k) {
    kernels.spawn(2, 64, add_step{}, a.view(), k);
    s.attach(kernels);
    kernels.run_async();
    a.flush_async(order);
  }
  a.check();
  kernels.wait();
  std::vector<std::uint32_t> found((items * 4 + 4095) / 4096 * 1024);
  s.read(v, 0, found.data(), found.size() * 4);
  for (std::uint32_t k = 0; k < items; ++k) REQUIRE(found[k] == 10);
  a.check();
  a.close();
}

}  // namespace gnstor::test

/// Arrays on memory of a peer behind an emulated NIC on the same GPU: the kernels of the host's
/// test.
#include "mapped_kernels.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/memory_array.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using remote_numbers = host::memory_array<std::uint32_t>;

void fill(host::remote_memory& memory, std::uint64_t count) {
  std::vector<std::uint32_t> v(count);
  std::iota(v.begin(), v.end(), 0u);
  memory.write(0, v.data(), 4 * count);
}

/// Adds its index to every element, by kernels; what is wrong, or nothing.
std::string added(const std::string& endpoint, const host::array_options& paging,
                  std::uint64_t count) {
  host::remote_memory memory(endpoint, {.channels = 8, .depth = 64});
  fill(memory, count);
  remote_numbers a(memory, count, paging);
  host::executor kernels;
  kernels.spawn(16, 128, add_index{}, a.view());
  memory.attach(kernels);
  kernels.run();
  a.close();
  if (a.counters().io_errors != 0) return "a page could not be moved";
  if (a.frames() < a.pages() && a.counters().evictions == 0) return "no frame was taken";
  std::vector<std::uint32_t> v(count);
  memory.read(0, v.data(), 4 * count);
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < count; ++i) wrong += v[i] != 2 * i ? 1 : 0;
  return wrong == 0 ? "" : std::to_string(wrong) + " elements are not what was stored";
}

}  // namespace

TEST_CASE("a GPU pages an array from a peer's memory, more pages than frames") {
  CHECK(added("emu-memory:?bytes=2000004", {.frame_bytes = 512 * 512, .page_bytes = 512},
              500'001) == "");
  CHECK(added("emu-memory:?bytes=8M", {.frame_bytes = 256 * 4096, .page_bytes = 4096}, 2'000'000) ==
        "");
  CHECK(added("emu-memory:?bytes=8M&gpu=0", {.frame_bytes = 256 * 4096, .page_bytes = 4096},
              2'000'000) == "");
  CHECK(added("emu-memory:?bytes=64M&workers=16", {.page_bytes = 64 * 1024}, 16'000'000) == "");
  CHECK(added("emu-memory:?bytes=256M", {.frame_bytes = 32u << 21, .page_bytes = 2u << 20},
              60'000'000) == "");
}

TEST_CASE("a region that is withdrawn ends every lane of a GPU") {
  host::remote_memory memory("emu-memory:?bytes=8M");
  fill(memory, 2'000'000);
  remote_numbers a(memory, 2'000'000, {.page_bytes = 4096});
  memory.withdraw_region();
  const host::memory_block sum(host::place::device, 8);
  host::executor kernels;
  kernels.spawn(16, 128, sum_up{}, a.view(), static_cast<std::uint64_t*>(sum.data()));
  memory.attach(kernels);
  kernels.run();
  CHECK_THROWS_WITH_AS(a.close(), doctest::Contains("has withdrawn the region"), host::io_error);
  CHECK(memory.phase(0) == channel_phase::error);
  a.clear_errors();
}

/// Arrays that share frames on a GPU: two kernels at once, each on an array of its own.
#include "gpu_node.hpp"
#include "mapped_kernels.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/mapped_array.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Elements of each array; the last page ends within itself.
constexpr std::uint64_t pooled_count = 300'001;

/// Elements that are not twice their index.
std::uint64_t not_doubled(const std::uint32_t* data) {
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < pooled_count; ++i) wrong += data[i] != 2 * i ? 1 : 0;
  return wrong;
}
std::vector<std::uint32_t> indices() {
  std::vector<std::uint32_t> v(pooled_count);
  for (std::uint32_t i = 0; i < pooled_count; ++i) v[i] = i;
  return v;
}

}  // namespace

TEST_CASE("kernels of two mapped arrays share frames, whole pages and pages in chunks") {
  for (const std::uint32_t page : {512u, 4096u, 32'768u}) {
    CAPTURE(page);
    host::mapped_memory on_a("host:?bytes=1200004"), on_b("host:?bytes=1200004");
    const std::vector<std::uint32_t> start = indices();
    host::frame_pool pool(on_a.options(), {.frame_bytes = 40u * page, .page_bytes = page});
    host::mapped_array<std::uint32_t> a(on_a, pooled_count, {.pool = &pool});
    host::mapped_array<std::uint32_t> b(on_b, pooled_count, {.pool = &pool});
    a.write(0, pooled_count, start.data());
    b.write(0, pooled_count, start.data());
    host::executor kernels;
    kernels.spawn(16, 128, add_index{}, a.view());
    kernels.spawn(16, 128, add_index{}, b.view());
    kernels.run();
    CHECK(a.counters().evictions > 0);
    CHECK(b.counters().evictions > 0);
    a.close();
    b.close();
    CHECK(not_doubled(on_a.as<std::uint32_t>()) == 0);
    CHECK(not_doubled(on_b.as<std::uint32_t>()) == 0);
  }
}

TEST_CASE("kernels of two arrays on volumes share frames, each with a pager or none") {
  const std::uint64_t bytes = 4 * pooled_count;
  host::session s(gpu_node("emu:?capacity=64M"));
  const volume_info first = s.create_volume({.bytes = bytes});
  const volume_info second = s.create_volume({.bytes = bytes});
  const std::vector<std::uint32_t> start = indices();
  host::frame_pool pool(s, {.frame_bytes = 64 * 4096, .page_bytes = 4096});
  for (const bool served : {false, true}) {
    CAPTURE(served);
    host::array<std::uint32_t> a(s, first, pooled_count, {.pool = &pool});
    host::array<std::uint32_t> b(s, second, pooled_count,
                                 {.pool = &pool, .kept_frame_bytes = 16 * 4096});
    a.write(0, pooled_count, start.data());
    b.write(0, pooled_count, start.data());
    host::executor kernels;
    if (served) {
      kernels.spawn(8, 128, add_index{}, a.served_view());
      kernels.spawn(8, 128, add_index{}, b.served_view());
      a.attach(kernels, {.warps = 8});
      b.attach(kernels, {.warps = 8});
    } else {
      kernels.spawn(8, 128, add_index{}, a.view());
      kernels.spawn(8, 128, add_index{}, b.view());
    }
    s.attach(kernels);
    kernels.run();
    CHECK(a.counters().evictions + b.counters().evictions > 0);
    std::vector<std::uint32_t> found(pooled_count);
    a.read(0, pooled_count, found.data());
    CHECK(not_doubled(found.data()) == 0);
    b.read(0, pooled_count, found.data());
    CHECK(not_doubled(found.data()) == 0);
    a.close();
    b.close();
  }
}

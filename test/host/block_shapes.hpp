#pragma once
/// Arrays used by blocks of any shape, end to end: the same on a CPU and on a GPU.

#include "simt/block_shapes.hpp"
#include "walk.hpp"
#include <gnstor/host/array.hpp>

#include <string>
#include <vector>

namespace gnstor::test {

/// The same in as few registers as the largest block leaves each thread.
struct add_in_large_blocks : add_to_all {
  static constexpr std::uint32_t most_threads = 1024;
};

/// Changes every element of an array four times its frames through `view[i]`, and checks it page by
/// page, one warp per page, in blocks of every shape.
inline void arrays_hold_what_blocks_of_any_shape_wrote(const std::string& endpoint) {
  constexpr std::uint64_t count = 1 << 16;  // 128 pages
  for (const launch& how : launches) {
    CAPTURE(endpoint);
    CAPTURE(how.block.x);
    CAPTURE(how.block.y);
    gnstor::host::session s(endpoint, {.channels = 3});
    const volume_info v = s.create_volume({.bytes = 8 * count});
    std::vector<std::uint64_t> numbers(count);
    for (std::uint64_t i = 0; i < count; ++i) numbers[i] = walked(i, 0);
    s.write(v, 0, numbers.data(), 8 * count);
    gnstor::host::array<std::uint64_t> a(s, v, count,
                                         {.frame_bytes = 32 * 4096, .page_bytes = 4096});
    const gnstor::host::memory_block wrong(s.client_place(), 8, s.options().device);
    const auto run = [&](const launch& as, auto kernel) {
      gnstor::host::executor machine;
      machine.spawn(as.grid, as.block, kernel, a.view(), static_cast<std::uint64_t*>(wrong.data()));
      s.attach(machine);
      machine.run();
    };
    run(how, add_in_large_blocks{{.round = 0}});
    run(how.block.count() <= 256 ? how : launch{1, {8, 6}}, check_pages{.round = 1});
    std::uint64_t bad = 0;
    wrong.read(0, &bad, sizeof bad);
    CHECK(bad == 0);
    a.close();
    s.read(v, 0, numbers.data(), 8 * count);
    for (std::uint64_t i = 0; i < count; ++i) bad += numbers[i] != walked(i, 1) ? 1 : 0;
    CHECK(bad == 0);
  }
}

}  // namespace gnstor::test

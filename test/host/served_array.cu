/// A pager beside the kernels of a GPU.
#include "gpu_node.hpp"
#include "served_array.hpp"

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

/// None under a tool, where looking whether a pager is there would wait for it to end.
duration start_timeout() { return under_a_tool() ? duration() : duration(std::chrono::minutes(1)); }

}  // namespace

TEST_CASE("on a GPU a pager fetches what kernels miss of a volume") {
  if (under_a_tool()) return;  // the next case, which is small
  for (const std::string endpoint :
       {"emu:?capacity=16M&runner=gpu", "emu:?capacity=16M&runner=gpu&media=hbm",
        "emu:?capacity=16M&runner=cpu"}) {
    walk_served(endpoint, {.grid = 8, .block = 128}, 1 << 18);
    walk_served(endpoint, {.grid = 64, .block = 256, .pagers = 4}, 1 << 18);
  }
}

TEST_CASE("on a GPU a pager of one warp fetches few pages of a small node, for tools") {
  // Three kernels at once: every warp that polls takes time from those that work.
  for (const std::string endpoint : {"emu:?capacity=16M&runner=gpu&ssds=1&replicas=1&shards=1",
                                     "emu:?capacity=16M&runner=cpu&ssds=1&replicas=1&shards=1"}) {
    CAPTURE(endpoint);
    constexpr std::uint64_t pages = 40, items = pages * 512;
    host::session s(gpu_node(endpoint), {.channels = 1});
    const volume_info v = s.create_volume({.bytes = 8 * items});
    host::array<std::uint64_t> a(s, v, items, {.frame_bytes = 32 * 4096, .page_bytes = 4096});
    const served_shape shape{.grid = 1, .block = 32, .pagers = 1, .start_timeout = start_timeout()};
    run_served(&s, a, shape, touch_pages{});
    a.flush();
    CHECK(a.counters().evictions >= 8);
    for (std::uint64_t page = 0; page < pages; ++page) CHECK(a.get(512 * page) == 512 * page + 1);
    a.close();
  }
}

TEST_CASE("on a GPU a pager runs beside a node that is not resident") {
  if (under_a_tool()) return;
  walk_served("emu:?capacity=16M&runner=gpu&resident=no", {.grid = 8, .block = 128}, 1 << 18);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("on a GPU a pager copies pages of host memory, for more threads than the device holds") {
  if (under_a_tool()) {
    add_to_served_memory({.grid = 2, .block = 64, .pagers = 2, .start_timeout = start_timeout()},
                         140'001);
    return;
  }
  add_to_served_memory({.grid = 64, .block = 128}, 4'000'001);
  add_to_served_memory({.grid = 132 * 20, .block = 1024, .pagers = 16}, 4'000'001);
}

TEST_CASE("on a GPU every rule for frames keeps what kernels wrote, cleaners beside them") {
  if (under_a_tool()) return;
  for (const eviction how : {eviction::fifo, eviction::clock, eviction::resist_scans}) {
    CAPTURE(static_cast<int>(how));
    walk_served(gpu_node("emu:?capacity=16M&runner=gpu"),
                {.grid = 32, .block = 256, .pagers = 16, .how = how, .cleaners = 4}, 1 << 18);
    add_to_served_memory({.grid = 64, .block = 256, .pagers = 32, .how = how, .cleaners = 8},
                         2'000'001);
  }
}

TEST_CASE("on a GPU two kernels of ten times its threads share 32 frames") {
  if (under_a_tool()) return;
  const std::string node = gpu_node("emu:?capacity=32M&runner=gpu");
  share_few_frames(node, {.grid = 132 * 10, .block = 1024, .pagers = 16}, 1 << 18);
  share_few_frames(node, {.grid = 132 * 10, .block = 1024, .pagers = 16, .how = eviction::clock},
                   1 << 18);
}

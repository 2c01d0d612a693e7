/// A pager beside the kernels of a GPU.
#include "gpu_node.hpp"
#include "served_array.hpp"

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

TEST_CASE("on a GPU a pager fetches what kernels miss of a volume") {
  for (const std::string endpoint :
       {"emu:?capacity=16M&runner=gpu", "emu:?capacity=16M&runner=gpu&media=hbm",
        "emu:?capacity=16M&runner=cpu"}) {
    walk_served(gpu_node(endpoint), {.grid = 8, .block = 128}, 1 << 18);
    walk_served(gpu_node(endpoint), {.grid = 64, .block = 256, .pagers = 4}, 1 << 18);
  }
}

TEST_CASE("on a GPU a pager runs beside a node that is not resident") {
  walk_served("emu:?capacity=16M&runner=gpu&resident=no", {.grid = 8, .block = 128}, 1 << 18);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("on a GPU a pager copies pages of host memory, for more threads than the device holds") {
  add_to_served_memory({.grid = 64, .block = 128}, 4'000'001);
  add_to_served_memory({.grid = 132 * 20, .block = 1024, .pagers = 16}, 4'000'001);
}

TEST_CASE("on a GPU every rule for frames keeps what kernels wrote, cleaners beside them") {
  for (const eviction how : {eviction::fifo, eviction::clock, eviction::resist_scans}) {
    CAPTURE(static_cast<int>(how));
    walk_served(gpu_node("emu:?capacity=16M&runner=gpu"),
                {.grid = 32, .block = 256, .pagers = 16, .how = how}, 1 << 18);
    add_to_served_memory({.grid = 64, .block = 256, .pagers = 32, .how = how}, 2'000'001);
  }
}

TEST_CASE("on a GPU two kernels of ten times its threads share 32 frames") {
  const std::string node = gpu_node("emu:?capacity=32M&runner=gpu");
  share_few_frames(node, {.grid = 132 * 10, .block = 1024, .pagers = 16}, 1 << 18);
  share_few_frames(node, {.grid = 132 * 10, .block = 1024, .pagers = 16, .how = eviction::clock},
                   1 << 18);
}

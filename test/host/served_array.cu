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

/// Volumes over channels that belong to one warp each, on a GPU.
#include "host/gpu_node.hpp"
#include "owned_requests.hpp"

using namespace gnstor::test;

TEST_CASE("on a GPU a warp with a channel of its own reads what it wrote and cleared") {
  for (const std::string endpoint :
       {"emu:?capacity=16M&runner=gpu", "emu:?capacity=16M&runner=gpu&media=hbm",
        "emu:?capacity=16M&runner=cpu", "emu:?capacity=16M&runner=cpu&transport=proxy"}) {
    owned_volumes_hold_what_was_written(gpu_node(endpoint), 2, 4);
    owned_volumes_hold_what_was_written(gpu_node(endpoint), 3, 64);
  }
}

TEST_CASE("on a GPU a warp with a channel of its own reads from a node that is not resident") {
  owned_volumes_hold_what_was_written("emu:?capacity=16M&runner=gpu&resident=no", 2, 64);
}

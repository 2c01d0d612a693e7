/// Warps with a channel of their own begin operations and take them later, on a GPU.
#include "host/gpu_node.hpp"
#include "own_batch.hpp"

using namespace gnstor::test;

TEST_CASE("on a GPU a warp with a channel of its own takes what it began, in any order") {
  for (const std::string endpoint :
       {"emu:?capacity=16M&runner=gpu", "emu:?capacity=16M&runner=gpu&media=hbm",
        "emu:?capacity=16M&runner=cpu", "emu:?capacity=16M&runner=cpu&transport=proxy"}) {
    async_owned_volumes_hold_what_was_written(gpu_node(endpoint), 2, 16);
    async_owned_volumes_hold_what_was_written(gpu_node(endpoint), 3, 128);
  }
}

TEST_CASE("on a GPU a batch of warps with channels of their own reads every block once") {
  own_batches_read_every_block(gpu_node("emu:?capacity=16M&runner=gpu"), 16);
  own_batches_read_every_block(gpu_node("emu:?capacity=16M&runner=gpu"), 128);
}

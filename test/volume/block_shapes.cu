/// Volumes and channels used by blocks of any shape, end to end on a GPU.
#include "block_shapes.hpp"
#include "host/gpu_node.hpp"

using namespace gnstor::test;

namespace {

std::string node() { return gpu_node("emu:?capacity=32M&runner=gpu"); }

}  // namespace

TEST_CASE("on a GPU a warp of a block of any shape keeps to one shared channel") {
  blocks_of_any_shape_move_their_data(node(), false);
  blocks_of_any_shape_move_their_data("emu:?capacity=32M&runner=cpu&transport=proxy", false);
}

TEST_CASE("on a GPU warps of blocks of any shape have volumes of their own") {
  blocks_of_any_shape_move_their_data(node(), true);
}

TEST_CASE("on a GPU volumes of warps that are less than whole share a channel") {
  small_blocks_share_a_channel(node());
}

TEST_CASE("on a GPU warps of blocks of any shape have channels of their own") {
  blocks_of_any_shape_own_their_channels(node());
}

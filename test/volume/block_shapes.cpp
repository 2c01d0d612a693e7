/// Volumes and channels used by blocks of any shape, end to end.
// label: thorough
#include "block_shapes.hpp"

using namespace gnstor::test;

namespace {

constexpr const char* node = "emu:?capacity=32M&runner=sim";
constexpr const char* proxy = "emu:?capacity=32M&runner=cpu&transport=proxy";

}  // namespace

TEST_CASE("a warp of a block of any shape keeps to one shared channel") {
  blocks_of_any_shape_move_their_data(node, false);
  blocks_of_any_shape_move_their_data(proxy, false);
}

TEST_CASE("warps of blocks of any shape have volumes of their own") {
  blocks_of_any_shape_move_their_data(node, true);
}

TEST_CASE("volumes of warps that are less than whole share a channel") {
  small_blocks_share_a_channel(node);
}

TEST_CASE("warps of blocks of any shape have channels of their own") {
  blocks_of_any_shape_own_their_channels(node);
}

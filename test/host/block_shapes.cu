/// Arrays used by blocks of any shape, on a GPU.
#include "block_shapes.hpp"
#include "gpu_node.hpp"

using namespace gnstor::test;

TEST_CASE("on a GPU an array holds what blocks of any shape wrote") {
  arrays_hold_what_blocks_of_any_shape_wrote(gpu_node("emu:?capacity=16M&runner=gpu"));
  arrays_hold_what_blocks_of_any_shape_wrote("emu:?capacity=16M&runner=cpu");
}

/// Arrays used by blocks of any shape, on the host runtime.
#include "block_shapes.hpp"

using namespace gnstor::test;

TEST_CASE("an array holds what blocks of any shape wrote") {
  arrays_hold_what_blocks_of_any_shape_wrote("emu:?capacity=16M&runner=sim");
  arrays_hold_what_blocks_of_any_shape_wrote("emu:?capacity=16M&runner=cpu&transport=proxy");
}

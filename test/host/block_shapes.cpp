/// Arrays used by blocks of any shape, on the host runtime.
// label: thorough
#include "block_shapes.hpp"

#include "under_asan.hpp"
#include "under_tsan.hpp"

using namespace gnstor::test;

TEST_CASE("an array holds what blocks of any shape wrote") {
  // All lanes of a simulated runner are one thread, and the slowest under a sanitizer.
  if (!under_tsan && !under_asan)
    arrays_hold_what_blocks_of_any_shape_wrote("emu:?capacity=16M&runner=sim");
  arrays_hold_what_blocks_of_any_shape_wrote("emu:?capacity=16M&runner=cpu&transport=proxy");
}

/// Pages of a volume that are begun and finished later, on a GPU.
#include "gpu_node.hpp"
#include "pages_ahead.hpp"

using namespace gnstor::test;

TEST_CASE("on a GPU pages are begun by one lane and finished by another") {
  pages_are_finished_by_anybody(gpu_node("emu:?capacity=16M&runner=gpu"));
}

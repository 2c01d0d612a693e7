/// A warp's asynchronous operations on a channel of few request slots, on a GPU.
#include "few_slots.hpp"
#include "qp/device_block.cuh"
#include <gnstor/simt/cuda_executor.cuh>

TEST_CASE("a step that was given up does not take the slot of one that was answered") {
  const gnstor::test::device_block memory(8192);
  gnstor::test::few_slots_image image(memory.data());
  memory.upload(image.memory);
  gnstor::simt::cuda::executor machine;
  machine.spawn(1, 2, gnstor::test::give_up_beside_an_answer{}, image.state, image.record);
  machine.run();
  memory.download(image.memory);
  CHECK(image.fault() == "");
}

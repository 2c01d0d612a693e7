/// Warps of blocks of any shape, on a GPU.
#include "block_shapes.hpp"
#include "memory/device_array.cuh"
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

namespace {

__global__ void plain_kernel(position* positions) {
  simt::lane<> lane;
  record_position{}(lane, positions);
}

}  // namespace

TEST_CASE("warps are counted per block, in blocks of any shape, on a GPU") {
  for (const launch& how : launches) {
    CAPTURE(how.block.x);
    CAPTURE(how.block.y);
    device_array<position> positions(how.grid.count() * how.block.count());
    simt::cuda::executor machine;
    machine.spawn(how.grid, how.block, record_position{}, positions.data());
    machine.run();
    check_positions(how, positions.read());
  }
}

TEST_CASE("a plain kernel launched with dim3 counts its warps likewise") {
  for (const launch& how : launches) {
    CAPTURE(how.block.x);
    CAPTURE(how.block.y);
    device_array<position> positions(how.grid.count() * how.block.count());
    const dim3 grid(how.grid.x, how.grid.y, how.grid.z);
    const dim3 block(how.block.x, how.block.y, how.block.z);
    plain_kernel<<<grid, block>>>(positions.data());
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    check_positions({grid, block}, positions.read());
  }
}

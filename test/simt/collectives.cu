#include "collectives.hpp"
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("every collective gives what its definition says, on the GPU") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  std::vector<collective_record> records(collective_grid * collective_block);
  const std::size_t bytes = records.size() * sizeof(collective_record);
  collective_record* on_device = nullptr;
  REQUIRE(cudaMalloc(&on_device, bytes) == cudaSuccess);
  REQUIRE(cudaMemset(on_device, 0xff, bytes) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  simt::cuda::executor machine;
  machine.spawn(collective_grid, collective_block, collective_kernel{}, on_device);
  machine.run();
  REQUIRE(cudaMemcpy(records.data(), on_device, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
  check_collectives(records);
  REQUIRE(cudaFree(on_device) == cudaSuccess);
}

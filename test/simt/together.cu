#include "together.hpp"
#include <gnstor/simt/cuda_executor.cuh>

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("the grids of a run go on together, on the GPU") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  mailbox* box = nullptr;
  REQUIRE(cudaMalloc(&box, sizeof *box) == cudaSuccess);
  REQUIRE(cudaMemset(box, 0, sizeof *box) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  simt::cuda::executor machine;
  machine.spawn_in(simt::domain::nic, 1, 1, server_kernel{}, box);
  machine.spawn(1, 1, client_kernel{}, box);
  machine.run();
  mailbox seen{};
  REQUIRE(cudaMemcpy(&seen, box, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(seen.served == exchanges);
  CHECK(seen.wrong == 0);
  REQUIRE(cudaFree(box) == cudaSuccess);
}

TEST_CASE("a launch that CUDA refuses is an exception that says why") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  simt::cuda::executor machine;
  CHECK_THROWS_WITH_AS(machine.spawn(1, 4096, server_kernel{}, static_cast<mailbox*>(nullptr)),
                       doctest::Contains("a block of 4096 threads does not fit"),
                       std::runtime_error);
}

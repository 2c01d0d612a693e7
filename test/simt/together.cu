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

TEST_CASE("a service ends when all grids that it serves have ended, on the GPU") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  std::uint32_t* words = nullptr;
  REQUIRE(cudaMalloc(&words, 3 * sizeof *words) == cudaSuccess);
  simt::cuda::executor machine;
  for (std::uint32_t run = 0; run < 3; ++run) {
    REQUIRE(cudaMemset(words, 0xff, 3 * sizeof *words) == cudaSuccess);
    machine.serve(1, 32, words[0], watch_clients{}, words);
    machine.spawn(1, 1, late_client{.delay_ns = 2'000'000}, words + 1);
    machine.spawn(1, 1, late_client{.delay_ns = 1'000}, words + 2);
    machine.run();
    std::uint32_t seen[3] = {};
    REQUIRE(cudaMemcpy(seen, words, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(seen[0] != 0);
    CHECK(seen[1] == 2);
    CHECK(seen[2] == 2);
  }
  REQUIRE(cudaFree(words) == cudaSuccess);
}

TEST_CASE("a service with nobody to serve is refused, as it would never end") {
  simt::cuda::executor machine;
  std::uint32_t stop = 0;
  machine.serve(1, 32, stop, watch_clients{}, static_cast<std::uint32_t*>(nullptr));
  CHECK_THROWS_WITH_AS(machine.run(), doctest::Contains("no grid to serve"), std::runtime_error);
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

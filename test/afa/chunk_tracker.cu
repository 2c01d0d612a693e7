#include "chunk_tracker.hpp"
#include <gnstor/simt/cuda_executor.cuh>

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("what is sent is complete, whoever brings it in whatever order, on the GPU") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  std::uint32_t* words = nullptr;
  unsigned char* buffer = nullptr;
  tracked_record* out = nullptr;
  REQUIRE(cudaMalloc(&words, tracked_words * sizeof *words) == cudaSuccess);
  REQUIRE(cudaMalloc(&buffer, tracked_bytes) == cudaSuccess);
  REQUIRE(cudaMallocHost(&out, sizeof *out) == cudaSuccess);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::uint32_t fresh[tracked_words] = {};
    fw::chunk_tracker<thread_scope_device>(fresh, tracked_bytes, tracked_chunk).clear();
    REQUIRE(cudaMemcpy(words, fresh, sizeof fresh, cudaMemcpyHostToDevice) == cudaSuccess);
    REQUIRE(cudaMemset(buffer, 0, tracked_bytes) == cudaSuccess);
    *out = {};
    simt::cuda::executor machine;
    machine.spawn(tracked_fillers, 1, chunk_filler{seed}, words, buffer);
    machine.spawn(1, 1, chunk_sender{}, words, static_cast<const unsigned char*>(buffer), out);
    machine.run();
    CHECK(out->wrong == 0);
    CHECK(out->sent == tracked_bytes);
  }
  REQUIRE(cudaFree(words) == cudaSuccess);
  REQUIRE(cudaFree(buffer) == cudaSuccess);
  REQUIRE(cudaFreeHost(out) == cudaSuccess);
}

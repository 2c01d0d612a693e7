#include "copied_pages.hpp"
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("a page that a warp copies has its CRC, on the GPU") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  const std::vector<unsigned char> memory = crc_memory();
  unsigned char* on_device = nullptr;
  unsigned char* flash = nullptr;
  unsigned char* back = nullptr;
  crc_record* records = nullptr;
  REQUIRE(cudaMalloc(&on_device, memory.size()) == cudaSuccess);
  REQUIRE(cudaMalloc(&flash, std::size_t{crc_pages} * block_bytes) == cudaSuccess);
  REQUIRE(cudaMallocHost(&back, memory.size()) == cudaSuccess);
  REQUIRE(cudaMallocHost(&records, crc_pages * sizeof *records) == cudaSuccess);
  REQUIRE(cudaMemcpy(on_device, memory.data(), memory.size(), cudaMemcpyHostToDevice) ==
          cudaSuccess);
  simt::cuda::executor machine;
  machine.spawn(crc_pages, 32, page_copier{}, on_device, flash, back, records);
  machine.run();
  check_crcs(memory, back, records);
  REQUIRE(cudaFree(on_device) == cudaSuccess);
  REQUIRE(cudaFree(flash) == cudaSuccess);
  REQUIRE(cudaFreeHost(back) == cudaSuccess);
  REQUIRE(cudaFreeHost(records) == cudaSuccess);
}

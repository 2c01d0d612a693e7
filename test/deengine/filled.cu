#include "filled.hpp"
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("an SSD is filled beside a writer, and an epoch ends under a write, on the GPU") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  const std::uint64_t bytes = fw::layout::of(filled_shape).bytes;
  void* meta = nullptr;
  void* data = nullptr;
  filled_record* out = nullptr;
  REQUIRE(cudaMallocManaged(&meta, bytes) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&data, std::size_t{filled_shape.pages} * block_bytes) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&out, sizeof *out) == cudaSuccess);
  REQUIRE(fw::format(meta, bytes, filled_shape, {}) == fw::mount_status::ok);
  const filled_life::ssd_ref ssd(meta, filled_shape, data);
  REQUIRE(ssd.volume_add(1, filled_volume_record()) == 0);
  *out = filled_record{};
  simt::cuda::executor machine;
  machine.spawn(1, 1, filled_life{}, ssd, out);
  machine.run();
  check_filled(*out);
  REQUIRE(cudaFree(meta) == cudaSuccess);
  REQUIRE(cudaFree(data) == cudaSuccess);
  REQUIRE(cudaFree(out) == cudaSuccess);
}

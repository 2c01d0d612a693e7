/// The wire structures as nvcc lays them out, and the bytes that a kernel packs, against the
/// host's.

#include "random_fields.hpp"
#include "round_trip.hpp"

#include <doctest/doctest.h>

namespace {

using gnstor::test::round_trip;

constexpr unsigned lanes = 4096;

/// What one compiler makes of the structures: its size and offsets, in an order both sides share.
struct layout {
  std::uint32_t number[24] = {};
};

GNSTOR_HD layout measure() {
  namespace wire = gnstor::wire;
  return {{sizeof(wire::mlx5::control_segment),
           sizeof(wire::mlx5::remote_address_segment),
           sizeof(wire::mlx5::data_segment),
           sizeof(wire::mlx5::completion_entry),
           offsetof(wire::mlx5::completion_entry, error_word),
           offsetof(wire::mlx5::completion_entry, tail),
           sizeof(wire::mlx5::doorbell_record),
           sizeof(wire::nvme::submission_entry),
           alignof(wire::nvme::submission_entry),
           offsetof(wire::nvme::submission_entry, dptr),
           offsetof(wire::nvme::submission_entry, cdw15),
           sizeof(wire::nvme::completion_entry),
           offsetof(wire::nvme::completion_entry, status),
           sizeof(wire::fabrics::connect_command),
           offsetof(wire::fabrics::connect_command, kato_ms),
           sizeof(wire::fabrics::connect_data),
           offsetof(wire::fabrics::connect_data, hostnqn),
           sizeof(wire::fabrics::property_command),
           sizeof(wire::fabrics::connection_request),
           sizeof(wire::afa::slba),
           sizeof(wire::afa::volume_record),
           sizeof(wire::afa::volume_list),
           sizeof(wire::afa::array_description),
           offsetof(wire::afa::array_description, ssd_ids)}};
}

__global__ void pack_everything(std::uint64_t seed, round_trip::outcome* results, layout* sizes) {
  const unsigned lane = blockIdx.x * blockDim.x + threadIdx.x;
  results[lane] = round_trip(seed + lane).run();
  if (lane == 0) *sizes = measure();
}

TEST_CASE("a kernel packs and unpacks the same bytes as the host") {
  const std::uint64_t seed = gnstor::test::random_fields("packing on the GPU").seed();
  round_trip::outcome* results = nullptr;
  layout* sizes = nullptr;
  REQUIRE(cudaMallocManaged(&results, lanes * sizeof(*results)) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&sizes, sizeof(*sizes)) == cudaSuccess);
  pack_everything<<<lanes / 128, 128>>>(seed, results, sizes);
  REQUIRE(cudaGetLastError() == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    CAPTURE(lane);
    REQUIRE(results[lane].failures == 0);
    REQUIRE(results[lane].digest == round_trip(seed + lane).run().digest);
  }
  const layout host = measure();
  for (unsigned i = 0; i < 24; ++i) {
    CAPTURE(i);
    CHECK(sizes->number[i] == host.number[i]);
  }
  CHECK(cudaFree(sizes) == cudaSuccess);
  CHECK(cudaFree(results) == cudaSuccess);
}

}  // namespace

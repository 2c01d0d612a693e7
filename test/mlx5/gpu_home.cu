/// What a ConnectX's queues need of a real GPU, as far as that can be seen without a NIC.
#include <gnstor/host/error.hpp>
#include <mlx5/memory_home.hpp>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace mlx5 = gnstor::host::mlx5;

TEST_CASE("GPU memory for queues is zeroed, begins at 64 KiB, and takes what this CPU writes") {
  const auto home = mlx5::gpu_home(0);
  CHECK(home->name() == "GPU 0");
  const std::size_t bytes = 100'000;
  mlx5::home_memory memory(home, bytes);
  CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 65536 == 0);
  std::vector<unsigned char> seen(bytes, 1);
  REQUIRE(cudaMemcpy(seen.data(), memory.data(), bytes, cudaMemcpyDefault) == cudaSuccess);
  CHECK(seen == std::vector<unsigned char>(bytes));
  std::vector<unsigned char> said(bytes);
  for (std::size_t k = 0; k < bytes; ++k) said[k] = static_cast<unsigned char>(k * 7);
  home->write(memory.data(), said.data(), bytes);
  REQUIRE(cudaMemcpy(seen.data(), memory.data(), bytes, cudaMemcpyDefault) == cudaSuccess);
  CHECK(seen == said);
}

TEST_CASE("a dma-buf of GPU memory is a descriptor, or there is none") {
  const auto home = mlx5::gpu_home(0);
  mlx5::home_memory memory(home, 1 << 20);
  for (const std::size_t bytes : {std::size_t{4096}, memory.bytes()}) {
    const auto exported = home->export_dmabuf(memory.data(), bytes);
    MESSAGE("dma-buf of " << bytes
                          << " bytes: " << std::string(exported ? "exported" : "not available"));
    if (exported) CHECK(exported->get() >= 0);
  }
}

TEST_CASE("memory that is no device register is not mapped as one, and the error names the key") {
  const auto home = mlx5::gpu_home(0);
  std::uint64_t* bad = reinterpret_cast<std::uint64_t*>(std::uintptr_t{4096});
  try {
    (void)home->map_register(bad, 8);
    FAIL("mapped");
  } catch (const gnstor::host::error& e) {
    const std::string said = e.what();
    CHECK_MESSAGE(said.find("PeerMappingOverride=1") != std::string::npos, said);
    CHECK_MESSAGE(said.find("proxy") != std::string::npos, said);
  }
  // The failure leaves nothing behind: the runtime still works.
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("a GPU that is not there is refused with the number that there are") {
  try {
    (void)mlx5::gpu_home(1000);
    FAIL("made");
  } catch (const gnstor::host::input_error& e) {
    CHECK(std::string(e.what()).find("GPU 1000 was asked for, and this machine has") == 0);
  }
}

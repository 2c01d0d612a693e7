#include <gnstor/host/array.hpp>

#include <cstdio>
#include <vector>

namespace host = gnstor::host;

/// A kernel like any other: a view comes by value.
__global__ void sum_plainly(gnstor::remote_array<float> view, float* sum) {
  const auto k = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < view.size()) atomicAdd(sum, view[k]);
}

int main(int argc, char** argv) try {
  host::session session(argc > 1 ? argv[1] : "emu:?capacity=64M");
  const std::vector<float> numbers(1024, 0.5f);
  const auto volume = session.create_volume({.bytes = 4096});
  session.write(volume, 0, numbers.data(), 4096);

  host::array<float> array(session, volume, numbers.size(), {.page_bytes = 4096});
  host::memory_block sum = session.allocate(sizeof(float));
  host::executor kernels;
  kernels.launch(8, 128, sum_plainly, array.view(), static_cast<float*>(sum.data()));
  session.attach(kernels);
  kernels.run();
  array.close();  // throws if view[k] failed anywhere

  float read = 0;
  sum.read(0, &read, sizeof read);
  std::printf("the kernel's sum is %g, %s\n", read, read == 512 ? "right" : "WRONG");
  return read == 512 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "plain_kernel: %s\n", e.what());
  return 2;
}

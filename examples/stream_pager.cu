#include <gnstor/host/mapped_array.hpp>

#include <cstdio>

namespace host = gnstor::host;

/// Doubles each number. A plain kernel of few registers: a pager fetches the pages that it misses.
__global__ void double_all(gnstor::served_array<float> numbers) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numbers.size();
       i += threads)
    numbers[i] *= 2;
}

int main() try {
  constexpr std::uint64_t count = 1 << 20;
  host::mapped_memory memory("host:?bytes=4M");
  for (std::uint64_t i = 0; i < count; ++i) memory.as<float>()[i] = static_cast<float>(i % 1000);
  host::mapped_array<float> numbers(memory, count, {.page_bytes = 4096});
  cudaStream_t stream = nullptr;
  if (cudaStreamCreate(&stream) != cudaSuccess) throw std::runtime_error("no GPU");

  // [snippet
  host::pager pager = numbers.serve(stream);  // is there before what follows on the stream
  double_all<<<64, 256, 0, stream>>>(numbers.served_view());
  double_all<<<64, 256, 0, stream>>>(numbers.served_view());
  pager.stop();  // behind both kernels; waits for nothing
  // snippet]

  const cudaError_t outcome = cudaStreamSynchronize(stream);
  if (outcome != cudaSuccess) throw std::runtime_error(cudaGetErrorString(outcome));
  numbers.close();  // throws if numbers[i] failed anywhere

  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i)
    wrong += memory.as<float>()[i] != static_cast<float>(i % 1000 * 4) ? 1 : 0;
  std::printf("%llu of %llu numbers are wrong: %s\n", static_cast<unsigned long long>(wrong),
              static_cast<unsigned long long>(count), wrong == 0 ? "right" : "WRONG");
  (void)cudaStreamDestroy(stream);
  return wrong == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "stream_pager: %s\n", e.what());
  return 2;
}

/// Kernels of one access to an array each: `views.py` reads what registers they take.
#include <gnstor/array/mapped_array.hpp>
#include <gnstor/array/served_array.hpp>

using namespace gnstor;

namespace {

__device__ std::uint32_t number() { return blockIdx.x * blockDim.x + threadIdx.x; }

}  // namespace

__global__ void mapped_read(mapped_array<std::uint32_t> view, std::uint32_t* out) {
  out[number()] = view[number()];
}
__global__ void mapped_write(mapped_array<std::uint32_t> view, const std::uint32_t* in) {
  view[number()] = in[number()];
}
__global__ void served_read(served_array<std::uint32_t> view, std::uint32_t* out) {
  out[number()] = view[number()];
}
__global__ void served_write(served_array<std::uint32_t> view, const std::uint32_t* in) {
  view[number()] = in[number()];
}

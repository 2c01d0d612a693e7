#pragma once
/// Where the calling thread is in its grid: the one place that asks the machine.

#include <gnstor/simt/host_hook.hpp>
#include <gnstor/simt/shape.hpp>

namespace gnstor::detail {

GNSTOR_HD inline simt::shape block_shape() {
#if defined(__CUDA_ARCH__)
  return blockDim;
#else
  return simt::current_hook ? simt::current_hook->position->block_shape : simt::shape();
#endif
}
GNSTOR_HD inline simt::shape grid_shape() {
#if defined(__CUDA_ARCH__)
  return gridDim;
#else
  return simt::current_hook ? simt::current_hook->position->grid_shape : simt::shape();
#endif
}

/// Position of the thread within its block, and of the block within its grid.
GNSTOR_HD inline simt::coordinates thread_coordinates() {
#if defined(__CUDA_ARCH__)
  return {threadIdx.x, threadIdx.y, threadIdx.z};
#else
  return simt::current_hook ? block_shape().coordinates_of(simt::current_hook->position->thread)
                            : simt::coordinates();
#endif
}
GNSTOR_HD inline simt::coordinates block_coordinates() {
#if defined(__CUDA_ARCH__)
  return {blockIdx.x, blockIdx.y, blockIdx.z};
#else
  return simt::current_hook ? grid_shape().coordinates_of(simt::current_hook->position->block)
                            : simt::coordinates();
#endif
}

/// Index of the thread within its block, along x first.
GNSTOR_HD inline std::uint32_t thread_index() {
#if defined(__CUDA_ARCH__)
  return block_shape().index_of(thread_coordinates());
#else
  return simt::current_hook ? simt::current_hook->position->thread : 0;
#endif
}
/// Index of the block within its grid, likewise.
GNSTOR_HD inline std::uint32_t block_index() {
#if defined(__CUDA_ARCH__)
  return grid_shape().index_of(block_coordinates());
#else
  return simt::current_hook ? simt::current_hook->position->block : 0;
#endif
}
GNSTOR_HD inline std::uint32_t threads_of_block() {
#if defined(__CUDA_ARCH__)
  return block_shape().count();
#else
  return simt::current_hook ? simt::current_hook->position->block_threads : 1;
#endif
}

}  // namespace gnstor::detail

#pragma once

#include <gnstor/simt/group.hpp>

namespace gnstor::simt {

/// Shared memory of a kernel that needs none.
struct no_shared {};

/// The execution context of one thread of a kernel, the same on both machines.
///
/// A kernel is a functor `template <class Lane> GNSTOR_HD void operator()(Lane& lane, args...)
/// const` that declares its shared memory as a nested `struct shared` (trivially default
/// constructible: nothing initialises it).
/// @tparam Shared the functor's `shared`
template <class Shared = no_shared>
class lane {
 public:
  GNSTOR_HD explicit lane(Shared* shared = nullptr) : shared_(shared) {}

  /// Index of this thread within its block. Blocks and grids have one dimension.
  GNSTOR_HD std::uint32_t thread() const {
#if defined(__CUDA_ARCH__)
    return threadIdx.x;
#else
    return current_hook ? current_hook->position->thread : 0;
#endif
  }
  /// Index of this block within its grid.
  GNSTOR_HD std::uint32_t block() const {
#if defined(__CUDA_ARCH__)
    return blockIdx.x;
#else
    return current_hook ? current_hook->position->block : 0;
#endif
  }
  GNSTOR_HD std::uint32_t block_threads() const {
#if defined(__CUDA_ARCH__)
    return blockDim.x;
#else
    return current_hook ? current_hook->position->block_threads : 1;
#endif
  }
  GNSTOR_HD std::uint32_t grid_blocks() const {
#if defined(__CUDA_ARCH__)
    return gridDim.x;
#else
    return current_hook ? current_hook->position->grid_blocks : 1;
#endif
  }
  /// Index of this thread within its grid, and the number of threads of the grid.
  GNSTOR_HD std::uint32_t global_thread() const { return block() * block_threads() + thread(); }
  GNSTOR_HD std::uint32_t grid_threads() const { return grid_blocks() * block_threads(); }

  /// The whole warp. @par Callers converged: every live lane of the warp.
  GNSTOR_HD group warp() const { return group::warp(); }
  /// The lanes of the warp that run together here.
  GNSTOR_HD group coalesced(const char* file = __builtin_FILE(),
                            unsigned line = __builtin_LINE()) const {
    return group::active(file, line);
  }
  /// A barrier over the block. @par Callers every live thread of the block.
  GNSTOR_HD void sync_block([[maybe_unused]] const char* file = __builtin_FILE(),
                            [[maybe_unused]] unsigned line = __builtin_LINE()) const {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#else
    if (current_hook) current_hook->block_sync(file, line);
#endif
  }
  GNSTOR_HD void pause() const { simt::pause(); }
  GNSTOR_HD Shared& shared() const { return *shared_; }

 private:
  Shared* shared_;
};

}  // namespace gnstor::simt

#pragma once

#include <gnstor/simt/group.hpp>
#include <gnstor/simt/thread_position.hpp>

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

  /// Index of this thread within its block, along x first: x + y * Dx + z * Dx * Dy.
  GNSTOR_HD std::uint32_t thread() const { return gnstor::detail::thread_index(); }
  /// Index of this block within its grid, likewise.
  GNSTOR_HD std::uint32_t block() const { return gnstor::detail::block_index(); }
  GNSTOR_HD std::uint32_t block_threads() const { return gnstor::detail::threads_of_block(); }
  GNSTOR_HD std::uint32_t grid_blocks() const { return gnstor::detail::grid_shape().count(); }
  /// The same for kernels that think in two or three dimensions.
  GNSTOR_HD coordinates thread_at() const { return gnstor::detail::thread_coordinates(); }
  GNSTOR_HD coordinates block_at() const { return gnstor::detail::block_coordinates(); }
  GNSTOR_HD shape block_shape() const { return gnstor::detail::block_shape(); }
  GNSTOR_HD shape grid_shape() const { return gnstor::detail::grid_shape(); }
  /// Index of this thread within its grid, block after block, and the number of threads of the
  /// grid. For the number of its warp see `simt::warp_number`.
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

#pragma once

#include <gnstor/simt/group.hpp>

#include <type_traits>

namespace gnstor::simt {

/// All threads of a block that act together, on the GPU and in the host runtime alike.
///
/// It needs a word of the block's shared memory to pass values on; nothing else may use it
/// meanwhile. In a kernel functor: `struct shared { simt::block_group::room room; };` and
/// `simt::block_group block(lane.shared().room)`; in a `__global__` kernel `__shared__
/// simt::block_group::room room`.
/// @par Callers every thread of the block, converged: none has exited
class block_group {
 public:
  /// What nothing initialises.
  struct room {
    std::uint64_t word;
  };

  GNSTOR_HD explicit block_group(room& r) : room_(&r) {}

  GNSTOR_HD std::uint32_t thread_rank() const { return gnstor::detail::thread_index(); }
  GNSTOR_HD std::uint32_t size() const { return gnstor::detail::threads_of_block(); }
  /// The calling thread's warp, and true if it is the block's first.
  GNSTOR_HD group warp() const { return group::warp(); }
  GNSTOR_HD bool is_first_warp() const { return thread_rank() < 32; }

  /// A barrier of the block that orders memory among its threads.
  GNSTOR_HD void sync([[maybe_unused]] const char* file = __builtin_FILE(),
                      [[maybe_unused]] unsigned line = __builtin_LINE()) const {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#else
    if (current_hook) current_hook->block_sync(file, line);
#endif
  }

  /// The value of thread 0.
  /// @par Callers every thread, which have met by `sync` since the last broadcast
  /// @par Order as `sync`
  GNSTOR_HD std::uint64_t broadcast(std::uint64_t value) const {
    if (thread_rank() == 0) room_->word = value;
    sync();
    return room_->word;
  }

 private:
  room* room_;
};
static_assert(std::is_trivially_default_constructible_v<block_group::room>);
static_assert(std::is_trivially_copyable_v<block_group> && sizeof(block_group) == 8);

}  // namespace gnstor::simt

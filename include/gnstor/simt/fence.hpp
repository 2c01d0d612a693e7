#pragma once

#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::simt {

/// A thread fence of order `order` at `Scope`. Prefer a release store or an acquire load; a fence
/// is for one flag that guards stores of many lanes or many words.
template <thread_scope Scope>
GNSTOR_HD inline void fence(memory_order order) {
#if !defined(__CUDA_ARCH__)
  if (current_hook) current_hook->fence(gnstor::detail::to_hook(order));
#endif
  ::cuda::atomic_thread_fence(order, Scope);
}

}  // namespace gnstor::simt

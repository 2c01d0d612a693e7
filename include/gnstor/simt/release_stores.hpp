#pragma once

#include <gnstor/simt/fence.hpp>

namespace gnstor::simt {

/// Release stores of one lane in a row: on the GPU one fence, made here, serves them all.
///
/// On the host each store releases by itself: it costs nothing there, and ThreadSanitizer knows no
/// fences.
/// @par Order what the lane did before it made this object is visible to who acquires one of the
/// words
template <thread_scope Scope>
class release_stores {
 public:
  GNSTOR_HD release_stores() {
#if defined(__CUDA_ARCH__)
    fence<Scope>(release);
#endif
  }

  template <class T>
  GNSTOR_HD void store(T& word, T value) const {
#if defined(__CUDA_ARCH__)
    atomic_ref<T, Scope>(word).store(value, relaxed);
#else
    atomic_ref<T, Scope>(word).store(value, release);
#endif
  }
};

}  // namespace gnstor::simt

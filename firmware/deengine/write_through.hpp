#pragma once

#include <gnstor/simt/fence.hpp>

#include <cuda/std/atomic>

namespace gnstor::fw {

/// Where flash is, for firmware that works on a copy of its metadata (a value).
///
/// A CPU works on flash itself: a file it has mapped. A GPU has the metadata in its own memory, and
/// the file is memory of the host that it can store to: what must survive goes there first, then
/// into the copy, which others see. What a mount computes anew (mapping, block states, marks of
/// ended pages) is in the copy alone.
class write_through {
 public:
  /// The metadata lies in flash.
  write_through() = default;
  /// @param copy the metadata block that the firmware works on
  /// @param flash the same block in flash, as the firmware reaches it
  GNSTOR_HD write_through(const void* copy, void* flash)
      : away_(reinterpret_cast<std::uintptr_t>(flash) - reinterpret_cast<std::uintptr_t>(copy)) {}

  /// True if there is a copy, so that flash has to be written.
  GNSTOR_HD bool any() const { return away_ != 0; }

  /// Where in flash the word at `at` is kept.
  template <class T>
  GNSTOR_HD T* operator()(T* at) const {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(at) + away_);
  }
  /// Stores a word of flash that `at` is a copy of.
  /// @par Order none: `order`
  template <class T>
  GNSTOR_HD void store(T& at, T value) const {
    system_word<T>(*(*this)(&at)).store(value, relaxed);
  }

  /// Whoever finds in flash, after the process was killed, something the calling lane stores from
  /// now on, also finds all it has stored or acquired before. A CPU's stores reach a mapped file in
  /// the order of the program.
  GNSTOR_HD void order() const {
    if (any()) {
      simt::fence<thread_scope_system>(acq_rel);
    } else {
      cuda::std::atomic_signal_fence(release);
    }
  }

 private:
  std::uintptr_t away_ = 0;  ///< bytes from the copy to flash
};

static_assert(std::is_trivially_copyable_v<write_through>);

}  // namespace gnstor::fw

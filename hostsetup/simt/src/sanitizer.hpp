#pragma once
/// What the sanitizers must know about fibers; empty functions in other builds.

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace gnstor::simt::host {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::size_t stack_factor = 4;  ///< instrumented frames are larger
#else
inline constexpr std::size_t stack_factor = 1;
#endif

/// While one lives, ThreadSanitizer ignores this fiber's accesses: the runtime's own bookkeeping is
/// not under test.
class quiet {
 public:
#if defined(__SANITIZE_THREAD__)
  quiet() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~quiet() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  quiet() {}
#endif
  quiet(const quiet&) = delete;
  quiet& operator=(const quiet&) = delete;
};

/// A happens-before edge for ThreadSanitizer from a release of `object` to a later acquire of it.
inline void tsan_release([[maybe_unused]] const void* object) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(const_cast<void*>(object));
#endif
}
inline void tsan_acquire([[maybe_unused]] const void* object) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(const_cast<void*>(object));
#endif
}

/// The fences of one lane, spelled out for ThreadSanitizer, which knows none: a release fence makes
/// each later atomic store a release, an acquire fence makes the last few atomic loads acquires.
/// Slightly stronger than a fence is.
class tsan_fences {
#if defined(__SANITIZE_THREAD__)
 public:
  void loaded(const void* word) { read_[reads_++ % remembered] = word; }
  void stored(const void* word) const {
    if (released_) tsan_release(word);
  }
  void fence(bool acquires, bool releases) {
    for (const void* word : read_) {
      if (acquires && word != nullptr) tsan_acquire(word);
    }
    released_ = released_ || releases;
  }

 private:
  static constexpr unsigned remembered = 32;
  const void* read_[remembered] = {};
  unsigned reads_ = 0;
  bool released_ = false;
#else
 public:
  void loaded(const void*) {}
  void stored(const void*) const {}
  void fence(bool, bool) {}
#endif
};

/// Stacks that abandoned lanes left poisoned are clean again.
inline void asan_forget([[maybe_unused]] void* stack, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, bytes);
#endif
}

}  // namespace gnstor::simt::host

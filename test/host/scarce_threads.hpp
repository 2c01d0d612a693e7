#pragma once
/// A system without threads left. Exactly one source of a program includes this: it defines
/// `pthread_create`, which sanitizers define themselves.

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace gnstor::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool threads_can_run_out = false;
#else
inline constexpr bool threads_can_run_out = true;
#endif

/// Threads that may still be started; none fails before.
inline std::atomic<int> threads_left{1 << 30};

}  // namespace gnstor::test

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*work)(void*), void* argument) noexcept {
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "pthread_create"));
  if (gnstor::test::threads_left.fetch_sub(1) <= 0) return EAGAIN;
  return real(thread, attributes, work, argument);
}
#endif

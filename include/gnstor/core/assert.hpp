#pragma once
/// Assertions that work in a kernel and on the host, in two tiers.

#include <gnstor/core/config.hpp>

#include <stdexcept>
#include <string>

namespace gnstor::inline v0 {

/// Thrown on the host by GNSTOR_VERIFY. The host runtime adds the seed that replays the failure.
class verify_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace gnstor::inline v0

namespace gnstor::detail {

[[noreturn]] inline void verify_failed(const char* what, const char* file, int line) {
  throw verify_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace gnstor::detail

/// A memory-safety invariant, checked in every build: throws `verify_error` on the host, traps on
/// the GPU.
#if defined(__CUDA_ARCH__)
#define GNSTOR_VERIFY(condition) \
  do {                           \
    if (!(condition)) __trap();  \
  } while (false)
#else
#define GNSTOR_VERIFY(condition)                                                       \
  do {                                                                                 \
    if (!(condition)) ::gnstor::detail::verify_failed(#condition, __FILE__, __LINE__); \
  } while (false)
#endif

/// A programmer's error, checked in debug builds only.
#if defined(NDEBUG)
#define GNSTOR_ASSERT(condition) static_cast<void>(0)
#else
#define GNSTOR_ASSERT(condition) GNSTOR_VERIFY(condition)
#endif

#pragma once

namespace gnstor::test {

/// True in the build under ThreadSanitizer, which makes everything ten times slower: sweeps are
/// shorter there.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif

}  // namespace gnstor::test

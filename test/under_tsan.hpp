#pragma once

namespace gnstor::test {

/// True in the build under ThreadSanitizer, which makes everything ten times slower: sweeps are
/// shorter there. Cases that fork, or put a thread to sleep by a signal, are left out: it starts no
/// threads after a fork, and delivers signals when it likes.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif

}  // namespace gnstor::test

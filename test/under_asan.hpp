#pragma once

namespace gnstor::test {

/// True in the build under AddressSanitizer and UBSan, which are some three times slower, and need
/// a descriptor to look at memory.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool under_asan = true;
#else
inline constexpr bool under_asan = false;
#endif

}  // namespace gnstor::test

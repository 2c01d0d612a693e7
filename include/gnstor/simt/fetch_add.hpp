#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/relaxed_bytes.hpp>

#include <type_traits>

namespace gnstor::simt {

/// A number that can be added to in one step: 4 or 8 bytes, an integer or a floating-point number.
template <class T>
concept addable = std::is_arithmetic_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

/// Adds `x` to the number at `at`, aligned to its size, in one step of device scope. The value
/// before.
/// @par Order none
template <addable T>
GNSTOR_HD inline T fetch_add_relaxed(void* at, T x) {
#if defined(__CUDA_ARCH__)
  return cuda::atomic_ref<T, thread_scope_device>(*static_cast<T*>(at)).fetch_add(x, relaxed);
#else
  // By its bits: words of the host runtime are unsigned.
  using bits = gnstor::detail::piece_of<sizeof(T)>;
  const device_word<bits> word(*static_cast<bits*>(at));
  bits seen = word.load(relaxed);
  T before{};
  for (bounded tries{~std::uint64_t{0}}; tries;) {
    std::memcpy(&before, &seen, sizeof before);
    const T after = static_cast<T>(before + x);
    bits wanted = 0;
    std::memcpy(&wanted, &after, sizeof wanted);
    if (word.compare_exchange(seen, wanted, relaxed)) break;
  }
  return before;
#endif
}

}  // namespace gnstor::simt

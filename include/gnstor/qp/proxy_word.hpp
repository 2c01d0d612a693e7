#pragma once
/// The words of the rings between a device and its proxy thread: 56 bits of value under the tag of
/// a lap.

#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/fence.hpp>

namespace gnstor::inline v0 {

/// The tag of entry `index` in a ring of 2^`log_entries` entries: bit 7 set, so that zeroed memory
/// holds no tag, and the lap, modulo 128, below it.
///
/// Each lap writes every word of an entry, so that a word is never more than one lap old.
GNSTOR_HD constexpr std::uint32_t proxy_tag(std::uint64_t index, std::uint32_t log_entries) {
  return 0x80u | (static_cast<std::uint32_t>(index >> log_entries) & 0x7fu);
}

/// The low 56 bits of `value` under `tag`, and each again.
GNSTOR_HD constexpr std::uint64_t proxy_word(std::uint64_t value, std::uint32_t tag) {
  return value << 8 >> 8 | std::uint64_t{tag} << 56;
}
GNSTOR_HD constexpr std::uint64_t proxy_word_value(std::uint64_t word) { return word << 8 >> 8; }
GNSTOR_HD constexpr std::uint32_t proxy_word_tag(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 56);
}

static_assert(proxy_word(~std::uint64_t{0}, 0x81) == 0x81ffffffffffffff);
static_assert(proxy_tag(0, 2) == 0x80 && proxy_tag(4, 2) == 0x81 && proxy_tag(512, 2) == 0x80);
static_assert(proxy_word_tag(0) != proxy_tag(0, 2));

/// Stores the `Words` tagged words of one ring entry.
/// @par Order releases everything before it to whoever reads the last word with acquire order and
/// finds every tag right; orders nothing among the words
template <thread_scope Scope, int Words>
GNSTOR_HD inline void store_entry(std::uint64_t* to, const std::uint64_t (&words)[Words]) {
  static_assert(Words % 2 == 0);
#if defined(__CUDA_ARCH__)
  // The fence comes first and the words follow without order: nothing waits for them to cross the
  // link.
  simt::fence<Scope>(cuda::std::memory_order_release);
  if constexpr (Scope == thread_scope_system) {
    for (int k = 0; k < Words; k += 2) {
      asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to + k), "l"(words[k]),
                   "l"(words[k + 1])
                   : "memory");
    }
  } else {
    for (int k = 0; k < Words; ++k)
      atomic_ref<std::uint64_t, Scope>(to[k]).store(words[k], relaxed);
  }
#else
  for (int k = 0; k < Words - 1; ++k)
    atomic_ref<std::uint64_t, Scope>(to[k]).store(words[k], relaxed);
  // Paired with the acquire load of the reader.
  atomic_ref<std::uint64_t, Scope>(to[Words - 1]).store(words[Words - 1], release);
#endif
}

}  // namespace gnstor::inline v0

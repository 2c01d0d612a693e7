#pragma once

#include <gnstor/simt/atomic_ref.hpp>

#include <type_traits>

namespace gnstor::fw {

/// Which Flushes of an SSD have begun and ended, where its flash is a file in a page cache.
///
/// What a power cut leaves there is what the last whole Flush found. So a block whose pages have
/// ended may hold something else only after a Flush that began later: the one before it still knows
/// these pages. Who must not wait for that says it wants a Flush.
/// @par Order of the words: `begin` and `stamp` are changes of one word, so that a Flush finds all
/// that was done before any stamp which is older than it
struct flush_numbers {
  /// `ended` where nobody waits for a Flush: flash keeps what is stored there.
  static constexpr std::uint64_t none_needed = ~std::uint64_t{0};

  std::uint64_t begun = 0;            ///< atomic
  std::uint64_t ended = none_needed;  ///< atomic: the number of the last whole one
  std::uint32_t wanted = 0;           ///< atomic: room comes back with the next one
  std::uint32_t reserved = 0;

  /// Begins a Flush, of which it is the number. @par Callers whoever makes Flushes, one at a time
  std::uint64_t begin() { return system_word<std::uint64_t>(begun).fetch_add(1, acq_rel) + 1; }
  /// @par Order releases what was made of it
  void end(std::uint64_t number) { system_word<std::uint64_t>(ended).store(number, release); }

  /// What `is_kept` asks for of all that was done until now.
  template <thread_scope Scope>
  GNSTOR_HD std::uint64_t stamp() {
    const atomic_ref<std::uint64_t, Scope> last(ended);
    if (last.load(relaxed) == none_needed) return 0;
    return atomic_ref<std::uint64_t, Scope>(begun).fetch_add(0, acq_rel);
  }
  /// True once a Flush has ended that began behind the stamp.
  /// @par Order acquires what that Flush has made
  template <thread_scope Scope>
  GNSTOR_HD bool is_kept(std::uint64_t stamp) {
    return atomic_ref<std::uint64_t, Scope>(ended).load(acquire) > stamp;
  }
  template <thread_scope Scope>
  GNSTOR_HD void want() {
    const atomic_ref<std::uint32_t, Scope> word(wanted);
    if (word.load(relaxed) == 0) word.store(1, relaxed);
  }
};

static_assert(sizeof(flush_numbers) == 24 && std::is_trivially_copyable_v<flush_numbers>);

}  // namespace gnstor::fw

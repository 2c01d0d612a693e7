#pragma once

#include <gnstor/simt/atomic_ref.hpp>

#include <concepts>
#include <type_traits>

namespace gnstor::inline v0 {

/// Who uses a queue pair's own words at the same time: its indices and locks, not its rings.
///
/// `alone` says that no two lanes do, so that nothing is claimed, marked or locked; `word<T>` is
/// how a word is reached then, with the operations of `atomic_ref`.
template <class S>
concept sharing_policy = requires(std::uint64_t& w, std::uint64_t value) {
  std::bool_constant<S::alone>{};
  { typename S::template word<std::uint64_t>(w).load(relaxed) } -> std::same_as<std::uint64_t>;
  {
    typename S::template word<std::uint64_t>(w).fetch_add(value, relaxed)
    } -> std::same_as<std::uint64_t>;
};

}  // namespace gnstor::inline v0

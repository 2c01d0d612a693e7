#pragma once

#include <gnstor/array/array_view.hpp>

#include <cstdint>

namespace support {

/// True of views whose pages have to be asked for: the way there is long, and a kernel that uses
/// several of them compiles it once for each, in functions of their own, and not at each use.
template <class View>
inline constexpr bool is_remote = false;
template <class T, class Store>
inline constexpr bool is_remote<gnstor::array_view<T, Store>> = !gnstor::mapped_page_store<Store>;

namespace detail {

template <class View>
GNSTOR_HD_SLOW auto load_apart(View view, std::uint64_t index) {
  return view.load(index);
}
template <class View, class G>
GNSTOR_HD_SLOW auto acquire_apart(View view, G g, std::uint64_t index) {
  return view.acquire_page(g, index);
}

}  // namespace detail

/// `view.load(index)`. @par Callers, Result, Bound, Errors as `array_view::load`
template <class View>
GNSTOR_HD auto load(const View& view, std::uint64_t index) {
  if constexpr (is_remote<View>) {
    return detail::load_apart(view, index);
  } else {
    return view.load(index);
  }
}

/// `view.acquire_page(g, index)`. @par Callers, Result, Bound, Errors as `array_view::acquire_page`
template <class View, class G>
GNSTOR_HD auto acquire_page(const View& view, const G& g, std::uint64_t index) {
  if constexpr (is_remote<View>) {
    return detail::acquire_apart(view, g, index);
  } else {
    return view.acquire_page(g, index);
  }
}

}  // namespace support

#pragma once

#include <gnstor/array/page_use.hpp>
#include <gnstor/core/config.hpp>

#include <cstdint>
#include <type_traits>

namespace gnstor::inline v0 {

/// A page that is to be held beside others: see `hold_pages`.
/// @tparam View the `array_view`, which must outlive what holds the page
template <class View, page_use Use>
struct page_request {
  static_assert(Use == page_use::read || !View::reads_only,
                "a view of const elements writes none: hold its page by to_read");
  static_assert(View::layout_type::never_straddles,
                "elements whose size is no power of two may lie on two pages, so none is held for "
                "them: use view[i], load and store, or pad the element");
  using element_type = std::conditional_t<Use == page_use::read, const typename View::value_type,
                                          typename View::value_type>;
  using view_type = View;
  static constexpr page_use use = Use;

  const View* view;
  std::uint64_t index;
};

/// The page of element `index`, for reading, for writing, or to be written whole: then it is not
/// fetched, and until every one of its elements has been written they have any value.
template <class View>
GNSTOR_HD page_request<View, page_use::read> to_read(const View& view, std::uint64_t index) {
  return {&view, index};
}
template <class View>
GNSTOR_HD page_request<View, page_use::write> to_write(const View& view, std::uint64_t index) {
  return {&view, index};
}
template <class View>
GNSTOR_HD page_request<View, page_use::overwrite> to_overwrite(const View& view,
                                                               std::uint64_t index) {
  return {&view, index};
}

}  // namespace gnstor::inline v0

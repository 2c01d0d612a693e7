#pragma once

#include <gnstor/array/page_guard.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/core/config.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/simt/thread_group.hpp>

#include <cstdint>

namespace gnstor::detail {

/// Some elements of an array that follow each other, used by a group page after page.
/// @tparam View the `array_view`
template <class View>
struct array_range {
  const View& view;
  std::uint64_t first;
  std::uint64_t count;

  /// Calls `body(elements, index)` for the range's part of each page, with the index of the first
  /// of its elements, while the page is held. The next page is asked for before, where others fetch
  /// pages, so that it comes while `body` works.
  /// @tparam T of the elements: const for `page_use::read`
  /// @param use `overwrite`: a page that lies in the range as a whole is not fetched
  /// @par Callers every thread of `g`, converged, with the same arguments
  /// @par Errors out_of_range, and `body` is not called; the first page's that is not had
  template <class T, simt::thread_group G, class Body>
  GNSTOR_HD status visit(const G& g, page_use use, const Body& body) const {
    if (count > view.size() || first > view.size() - count)
      return status::make(status_code::out_of_range, reporter::array);
    const std::uint64_t page_elements = view.elements_per_page();
    for (std::uint64_t at = first, next = 0; at < first + count; at = next) {
      next = view.layout().first_beside(at) + page_elements;
      const std::uint64_t end = next < first + count ? next : first + count;
      if (g.thread_rank() == 0 && next < first + count && is_fetched(use, next))
        view.prefetch(next);
      const page_guard<T, View, G> held(view, g, view.acquire_page(g, at, use_of(use, at, end)));
      if (!held) return held.outcome();
      body(held.span().subspan(at - held.first(), end - at), at);
    }
    return status{};
  }

 private:
  GNSTOR_HD bool is_fetched(page_use use, std::uint64_t at) const {
    const std::uint64_t after = at + view.elements_per_page();
    return use_of(use, at, after < first + count ? after : first + count) != page_use::overwrite;
  }
  /// A page is overwritten if all of its elements are in the range; its others keep what they have.
  GNSTOR_HD page_use use_of(page_use use, std::uint64_t at, std::uint64_t end) const {
    const bool whole = at == view.layout().first_beside(at) &&
                       (end - at == view.elements_per_page() || end == view.size());
    return use == page_use::overwrite && !whole ? page_use::write : use;
  }
};

}  // namespace gnstor::detail

#pragma once

#include <gnstor/array/uncaught.hpp>
#include <gnstor/core/config.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/simt/thread_group.hpp>

#include <cuda/std/span>

namespace gnstor::inline v0 {

/// A page of an array, held in its frame for all lanes of a group until the end of the scope; what
/// `array_view::page`, `writable_page` and `overwritten_page` return.
///
/// True if the page is held; otherwise `outcome()` says why not, and there is nothing to release.
/// The view must outlive it. Hold few pages of one array at a time: a held page keeps its frame,
/// and groups that wait for a frame while they hold others may all wait for each other, until the
/// view's timeout ends that with `no_memory`.
/// @par Callers the whole group leaves the scope converged: no lane alone by `return` or `break`
/// @par Order what the group did to the page is released to whoever evicts it
/// @tparam T the element; const if the page is held for reading
/// @tparam View the `array_view`
/// @tparam G lanes of a warp, or a block
template <class T, class View, simt::thread_group G>
class page_guard {
 public:
  /// @param page of `view`, pinned for `g`, or why it is not
  GNSTOR_HD page_guard(const View& view, const G& g, const result<typename View::pinned>& page)
      : view_(&view), group_(g), page_(page), exceptions_(exceptions()) {}
  page_guard(const page_guard&) = delete;
  page_guard& operator=(const page_guard&) = delete;
  GNSTOR_HD ~page_guard() noexcept(false) {
    if (page_ && exceptions() == exceptions_) view_->release_page(group_, page_.value);
  }

  GNSTOR_HD explicit operator bool() const { return static_cast<bool>(page_); }
  /// ok, or why the page is not held: see `array_view::page`.
  [[nodiscard]] GNSTOR_HD status outcome() const { return page_.status; }

  /// Element `index` of the array, which is on this page.
  GNSTOR_HD T& operator[](std::uint64_t index) const { return page_.value[index]; }
  /// True if element `index` of the array is on this page; false of any if the page is not held.
  GNSTOR_HD bool holds(std::uint64_t index) const { return page_.value.holds(index); }
  /// Index of the page's first element, and how many there are.
  GNSTOR_HD std::uint64_t first() const { return page_.value.first; }
  GNSTOR_HD std::uint32_t count() const { return page_.value.count; }
  /// All of them, from `first()` on; none if the page is not held.
  GNSTOR_HD cuda::std::span<T> span() const { return {page_.value.data, page_.value.count}; }

 private:
  GNSTOR_HD static int exceptions() { return detail::uncaught(); }

  const View* view_;
  G group_;
  result<typename View::pinned> page_;
  int exceptions_;
};

}  // namespace gnstor::inline v0

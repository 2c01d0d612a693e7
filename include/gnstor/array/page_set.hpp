#pragma once

#include <gnstor/array/held_page.hpp>
#include <gnstor/array/hold_together.hpp>
#include <gnstor/array/page_request.hpp>
#include <gnstor/array/uncaught.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/simt/warp.hpp>

#include <cuda/std/tuple>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace gnstor::detail {

/// A page of a `page_set`.
template <class Request>
struct page_part {
  const typename Request::view_type::cache_type* pages = nullptr;
  typename Request::element_type* data = nullptr;
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  page_index page{};
};

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

/// Several pages, of one array or of several, held in their frames for all lanes of a group until
/// the end of the scope; what `hold_pages` and `array_view::pages` return.
///
/// True if all are held; otherwise none is, `outcome()` says why, and no page has an element. The
/// views must outlive it.
/// @par Callers the whole group leaves the scope converged: no lane alone by `return` or `break`
/// @par Order what the group did to the pages is released to whoever evicts them
/// @tparam Requests `page_request`s, 1 to 8
template <simt::warp_group G, class... Requests>
class page_set {
  static_assert(sizeof...(Requests) >= 1 && sizeof...(Requests) <= 8,
                "a group holds 1 to 8 pages together");
  using all = std::index_sequence_for<Requests...>;

 public:
  /// True if all pages have elements of one type, held for the same kind of use.
  static constexpr bool are_alike =
      (... &&
       std::is_same_v<
           typename Requests::element_type,
           typename cuda::std::tuple_element_t<0, cuda::std::tuple<Requests...>>::element_type>);

  GNSTOR_HD explicit page_set(const G& g, const Requests&... requests)
      : group_(g), uncaught_(detail::uncaught()) {
    outcome_ = hold(all{}, requests...);
  }
  page_set(const page_set&) = delete;
  page_set& operator=(const page_set&) = delete;
  GNSTOR_HD ~page_set() noexcept(false) {
    if (outcome_.ok() && detail::uncaught() == uncaught_) let_go(all{});
  }

  GNSTOR_HD explicit operator bool() const { return outcome_.ok(); }
  /// ok, or why none is held: see `hold_pages`.
  [[nodiscard]] GNSTOR_HD status outcome() const { return outcome_; }

  /// The page of the K-th request.
  template <std::size_t K>
  GNSTOR_HD auto get() const {
    return held(cuda::std::get<K>(parts_));
  }
  /// The k-th page, where all are alike, as those of `array_view::pages`; else use `get<K>()`.
  GNSTOR_HD auto operator[](std::uint32_t k) const requires are_alike { return nth(k, all{}); }

 private:
  template <class Request>
  GNSTOR_HD static held_page<typename Request::element_type> held(
      const detail::page_part<Request>& part) {
    return {part.data, part.first, part.count};
  }

  /// An overwritten page has no bytes of its own any more, so it is taken when nothing else can
  /// fail.
  template <std::size_t... K>
  static constexpr bool overwritten_is_last(std::index_sequence<K...>) {
    return ((Requests::use != page_use::overwrite || K + 1 == sizeof...(Requests)) && ...);
  }
  static_assert(overwritten_is_last(all{}),
                "one page of a set may be overwritten, and to_overwrite is the last argument then; "
                "hold others by to_write");

  template <std::size_t... K>
  GNSTOR_HD status hold(std::index_sequence<K...>, const Requests&... requests) {
    if (((requests.index >= requests.view->size()) || ...))
      return status::make(status_code::out_of_range, reporter::array);
    std::uint64_t timeout_ns = 0;
    ((timeout_ns =
          requests.view->timeout_ns_ > timeout_ns ? requests.view->timeout_ns_ : timeout_ns),
     ...);
    auto wanted = cuda::std::make_tuple(locate(cuda::std::get<K>(parts_), requests)...);
    const status s = detail::hold_together(group_, timeout_ns, cuda::std::get<K>(wanted)...);
    (settle(cuda::std::get<K>(parts_), cuda::std::get<K>(wanted).frame, s.ok()), ...);
    return s;
  }
  template <class Request>
  GNSTOR_HD static auto locate(detail::page_part<Request>& part, const Request& request) {
    const auto extent = request.view->extent_of(request.index);
    part.pages = &request.view->shared_pages();
    part.first = extent.first;
    part.count = extent.count;
    part.page = extent.page;
    return detail::wanted_page<typename Request::view_type::cache_type>{
        part.pages, extent.page, request.view->use_of(extent, Request::use)};
  }
  template <class Request>
  GNSTOR_HD static void settle(detail::page_part<Request>& part, frame_index frame, bool is_held) {
    using element = typename Request::element_type;
    part.data = reinterpret_cast<element*>(part.pages->data(frame));
    if (!is_held) part.count = 0;
  }

  template <std::size_t... K>
  GNSTOR_HD void let_go(std::index_sequence<K...>) const {
    group_.sync();
    if (group_.thread_rank() != 0) return;
    (cuda::std::get<K>(parts_).pages->unpin(cuda::std::get<K>(parts_).page), ...);
  }

  template <std::size_t... K>
  GNSTOR_HD auto nth(std::uint32_t k, std::index_sequence<K...>) const {
    auto found = get<0>();
    ((K == k ? static_cast<void>(found = get<K>()) : void()), ...);
    return found;
  }

  G group_;
  status outcome_;
  int uncaught_;
  cuda::std::tuple<detail::page_part<Requests>...> parts_;
};

/// Holds several pages for all lanes of `g` until the end of the scope: all of them, or none.
///
///     const auto pages = hold_pages(warp, to_read(a, i), to_read(b, i), to_overwrite(c, i));
///     if (!pages) return pages.outcome();
///     const auto x = pages.get<0>(), y = pages.get<1>();
///     const auto z = pages.get<2>();
///     for (auto k = i + warp.thread_rank(); z.holds(k); k += warp.size()) z[k] = x[k] + y[k];
///
/// Nobody waits for a page while holding another, so groups that hold several never wait for each
/// other. They all go on if the arrays have frames for the pages that all groups want at once;
/// with fewer a group may find its own never together, and ends at its timeout. A page
/// `to_overwrite` is the last argument, and is not fetched, but through a `served_view`.
/// @par Callers every lane of `g`, converged, with the same arguments; so is the end of the scope
/// @par Result every lane the same; false, with the reason in `outcome()`, if no page is held
/// @par Order the pages' bytes are visible to every lane of `g`
/// @par Bound the longest of the views' timeouts
/// @par Errors out_of_range; a page's status, see `pin` of its pages; no_memory if they could not
/// be had together. Nothing is held then, and nothing is changed
template <simt::warp_group G, class... Requests>
[[nodiscard]] GNSTOR_HD page_set<G, Requests...> hold_pages(const G& g,
                                                            const Requests&... requests) {
  return page_set<G, Requests...>(g, requests...);
}

}  // namespace gnstor::inline v0

namespace gnstor::detail {

/// The pages of `indices`, all for reading.
template <class G, class View, std::size_t N, std::size_t... K>
GNSTOR_HD auto hold_for_reading(const G& g, const View& view, const std::uint64_t (&indices)[N],
                                std::index_sequence<K...>) {
  return hold_pages(g, to_read(view, indices[K])...);
}

}  // namespace gnstor::detail

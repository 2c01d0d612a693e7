#pragma once

#include <gnstor/array/array_element.hpp>
#include <gnstor/array/array_range.hpp>
#include <gnstor/array/copied_pages.hpp>
#include <gnstor/array/element_layout.hpp>
#include <gnstor/array/far_access.hpp>
#include <gnstor/array/page_cache.hpp>
#include <gnstor/array/page_guard.hpp>
#include <gnstor/array/page_set.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/array/served_pages.hpp>
#include <gnstor/simt/fetch_add.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/relaxed_bytes.hpp>
#include <gnstor/simt/thread_group.hpp>

#include <type_traits>
#include <utility>

namespace gnstor::detail {

/// An array's element by its size, which the compiler names where it does not fit.
template <std::size_t Bytes>
struct element_of_bytes {
  static constexpr bool fits_pages = Bytes <= 4096;
  static_assert(fits_pages, "an element has to fit a page: sizeof(T) is 4096 at most");
};
/// The same where whole elements of a page are asked for.
template <std::size_t Bytes>
struct page_of_elements {
  static constexpr bool is_whole = cuda::std::has_single_bit(Bytes);
  static_assert(
      is_whole,
      "elements whose size is no power of two may lie on two pages, so none is held for "
      "them: use view[i], load and store, or pad the element, as struct alignas(16) makes "
      "12 bytes 16");
};

/// What moves the pages of a store.
template <class Store>
struct pages_of {
  using type = page_cache<Store>;
};
template <mapped_page_store Store>
struct pages_of<Store> {
  using type = copied_pages<Store>;
};
template <served_page_store Store>
struct pages_of<Store> {
  using type = served_pages<typename words_of<Store>::type>;
};

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

template <class View>
class cached_reader;

/// `count` elements of `T` on a page store, used by index from any lane (a reference, passed by
/// value). `T` is of any trivially copyable type up to 4096 bytes, and up to a page.
///
/// `view[i]` reads, `view[i] = x`, `view[i] += x` and so on write. An element is not atomic: lanes
/// that write the same one race, as they do on ordinary memory, but for `atomicAdd(view[i], x)`. An
/// error is never silent: `load` and `store` return it, a read of `view[i]` yields bytes of
/// `poison_byte`, and the array keeps its first error, which the host's `flush` and `close` throw.
/// A write that fails changes nothing.
///
/// A read of a page that is there takes no reference: page word, element, page word again. What is
/// rarer is out of line (`far_access`), on a copy of the view in the kernels' memory, so that
/// kernels carry little. So is an element that lies on two pages, because its size is no power of
/// two.
/// @tparam T the element; of `const T` the view only reads
template <class T, array_store Store>
class array_view {
  using mutable_view = array_view<std::remove_const_t<T>, Store>;
  static_assert(std::is_trivially_copyable_v<T>, "elements are moved as bytes");
  static_assert(detail::element_of_bytes<sizeof(T)>::fits_pages);

 public:
  using value_type = std::remove_const_t<T>;
  using cache_type = typename detail::pages_of<Store>::type;
  using element = array_element<array_view>;
  using layout_type = element_layout<value_type>;
  static constexpr bool reads_only = std::is_const_v<T>;
  static constexpr unsigned char poison_byte = 0xdb;

  /// A page held in its frame for many accesses.
  struct pinned {
    T* data = nullptr;        ///< element `first`
    std::uint64_t first = 0;  ///< index of the page's first element
    std::uint32_t count = 0;  ///< elements on the page
    page_index page{};

    GNSTOR_HD T& operator[](std::uint64_t index) const { return data[index - first]; }
    GNSTOR_HD bool holds(std::uint64_t index) const { return index - first < count; }
  };

  /// @param twin room for a copy of the view that is not read-only, which its maker puts there, in
  /// memory that kernels reach: what is off the hot path finds everything there
  GNSTOR_HD array_view(const cache_type& cache, std::uint64_t count, std::uint64_t timeout_ns,
                       const mutable_view* twin)
      : cache_(cache),
        count_(count),
        timeout_ns_(timeout_ns),
        layout_(cache.store().page_bytes()),
        twin_(twin) {}

  /// The same elements, to be read alone.
  GNSTOR_HD array_view<const T, Store> read_only() const {
    return {cache_, count_, timeout_ns_, twin_};
  }

  GNSTOR_HD std::uint64_t size() const { return count_; }
  GNSTOR_HD const cache_type& cache() const { return cache_; }
  GNSTOR_HD const layout_type& layout() const { return layout_; }
  /// Of elements that never straddle pages: their size is a power of two.
  GNSTOR_HD std::uint64_t elements_per_page() const requires layout_type::never_straddles {
    return layout_.elements_per_page();
  }

  GNSTOR_HD element operator[](std::uint64_t index) const { return element(*this, index); }

  /// Reads element `index`.
  /// @par Callers any lane, converged or not
  /// @par Bound the view's timeout
  /// @par Errors out_of_range; the page's status, see `pin` of `cache_type`
  GNSTOR_HD result<value_type> load(std::uint64_t index) const {
    value_type value{};
    if (peek(index, value)) return value;
    return far::load(twin_, index);
  }
  /// The same; where it fails, bytes of `poison_byte`, and the array has the error.
  GNSTOR_HD value_type load_or_poison(std::uint64_t index) const {
    value_type value{};
    if (peek(index, value)) return value;
    return far::load_or_poison(twin_, index);
  }

  /// The same in the lanes of `g` that want it, each its own: the pages that they miss are fetched
  /// together. Neighbouring lanes that walk on their own paths, down a tree, say, wait once.
  /// @par Callers every lane of `g`, converged, on the same view
  /// @par Result each lane its own; `T{}` in one that wants none
  /// @par Bound the view's timeout
  /// @par Errors as of one lane, each its own
  template <simt::warp_group G>
  GNSTOR_HD result<value_type> load(const G& g, std::uint64_t index, bool wants) const {
    value_type value{};
    const bool misses = wants && !peek(index, value);
    if (!g.any(misses)) return value;
    const result<value_type> missed = far::load_together(twin_, g, index, misses);
    if (misses) return missed;
    return value;
  }

  /// Writes element `index`; it reaches the store when its page is evicted or flushed.
  /// @par Callers, Bound, Errors as `load`
  GNSTOR_HD status store(std::uint64_t index, const value_type& value) const requires(!reads_only) {
    return far::store(twin_, index, value);
  }
  /// The same; where it fails, the array has the error.
  GNSTOR_HD void store_or_keep(std::uint64_t index, const value_type& value) const
      requires(!reads_only) {
    far::store_or_keep(twin_, index, value);
  }
  /// Element `index` becomes `next(element)`; not in one step. Where it fails, the array has the
  /// error, and nothing is changed.
  /// @par Callers, Bound as `load`
  template <class Next>
  GNSTOR_HD void change(std::uint64_t index, const Next& next) const requires(!reads_only) {
    far::change(twin_, index, next);
  }
  /// The same: the element before; where it fails, bytes of `poison_byte`.
  template <class Next>
  GNSTOR_HD value_type fetch_change(std::uint64_t index, const Next& next) const
      requires(!reads_only) {
    return far::fetch_change(twin_, index, next);
  }
  /// Adds `x` to element `index` in one step, a number of 4 or 8 bytes: the value before.
  /// @par Callers, Bound, Errors as `load`
  GNSTOR_HD result<value_type> fetch_add(std::uint64_t index, const value_type& x) const
      requires(!reads_only && simt::addable<value_type>) {
    return far::fetch_add(twin_, index, x);
  }
  GNSTOR_HD value_type fetch_add_or_poison(std::uint64_t index, const value_type& x) const
      requires(!reads_only && simt::addable<value_type>) {
    const result<value_type> before = far::fetch_add(twin_, index, x);
    return before ? before.value : far::keep_and_poison(twin_, index, before.status);
  }
  /// Has the page of `index` fetched, without waiting, where others fetch pages; else does nothing.
  /// @par Callers any lane
  GNSTOR_HD void prefetch(std::uint64_t index) const {
    if constexpr (served_page_store<Store>) {
      if (index < count_) far::prefetch(twin_, index);
    }
  }
  /// Has the pages fetched that lanes of `g` want, each its own: without waiting where others fetch
  /// pages, else all together. What fails is the array's error, and said when the page is used.
  /// @par Callers every lane of `g`, converged, on the same view
  /// @par Bound the view's timeout; twice that for elements on two pages
  template <simt::warp_group G>
  GNSTOR_HD void prefetch(const G& g, std::uint64_t index, bool wants) const {
    const bool there = index < count_;
    if constexpr (served_page_store<Store>) {
      if (wants && there) far::prefetch(twin_, index);
      g.sync();
    } else {
      value_type unused{};
      const bool misses = wants && there && !peek(index, unused);
      if (g.any(misses)) (void)far::load_together(twin_, g, index, misses);
    }
  }

  /// Holds the page of `index` for all threads of `g`, lanes of a warp or a block
  /// (`simt::block_group`), until the end of the scope, once for many reads: `const auto page =
  /// view.page(g, i); if (page && page.holds(k)) sum += page[k];`.
  /// @par Callers every thread of `g`, converged, with the same arguments; so is the end of the
  /// scope
  /// @par Result every lane the same; false, with the reason in `outcome()`, if no page is held
  /// @par Order the page's bytes are visible to every lane of `g`
  /// @par Bound the view's timeout
  /// @par Errors out_of_range; the page's status, see `page_cache::pin`
  template <simt::thread_group G>
  [[nodiscard]] GNSTOR_HD page_guard<const value_type, array_view, G> page(
      const G& g, std::uint64_t index) const {
    return {*this, g, acquire_page(g, index, page_use::read)};
  }
  /// The same for writing: the page reaches the store when it is evicted or flushed.
  /// @par Callers, Result, Order, Bound, Errors as `page`
  template <simt::thread_group G>
  [[nodiscard]] GNSTOR_HD page_guard<T, array_view, G> writable_page(const G& g,
                                                                     std::uint64_t index) const
      requires(!reads_only) {
    return {*this, g, acquire_page(g, index, page_use::write)};
  }
  /// The same for a page that `g` writes whole: it is not fetched. Until every one of its elements
  /// has been written they have any value, also for others who read them.
  /// @par Callers, Result, Order, Bound, Errors as `page`
  template <simt::thread_group G>
  [[nodiscard]] GNSTOR_HD page_guard<T, array_view, G> overwritten_page(const G& g,
                                                                        std::uint64_t index) const
      requires(!reads_only) {
    return {*this, g, acquire_page(g, index, page_use::overwrite)};
  }

  /// Holds the pages of several elements for reading, up to 8 pages: all, or none. The k-th is
  /// `pages[k]`: `if (const auto pages = view.pages(g, {i, j}); pages) sum += pages[1][j];`. For
  /// pages of several arrays, or for writing, see `hold_pages`.
  /// @par Callers, Result, Order, Bound, Errors as `hold_pages`
  template <simt::warp_group G, std::size_t N>
  [[nodiscard]] GNSTOR_HD auto pages(const G& g, const std::uint64_t (&indices)[N]) const {
    return detail::hold_for_reading(g, *this, indices, std::make_index_sequence<N>{});
  }

  /// Calls `body(elements, i)` for the elements of `count` from `first` on that lie on one page, a
  /// `cuda::std::span` whose first one is element `i`, page after page; each is held meanwhile:
  /// `view.read_range(warp, first, count, [&](auto part, std::uint64_t i) { ... });`. The next page
  /// is on its way then, where others fetch pages.
  /// @par Callers every thread of `g`, converged, with the same arguments; so they leave `body`
  /// @par Result every lane the same
  /// @par Order, Bound as `page`, for each page
  /// @par Errors out_of_range: `body` is not called; a page's status: not for it and those after it
  template <simt::thread_group G, class Body>
  GNSTOR_HD status read_range(const G& g, std::uint64_t first, std::uint64_t count,
                              const Body& body) const {
    return range{*this, first, count}.template visit<const value_type>(g, page_use::read, body);
  }
  /// The same for writing.
  template <simt::thread_group G, class Body>
  GNSTOR_HD status write_range(const G& g, std::uint64_t first, std::uint64_t count,
                               const Body& body) const requires(!reads_only) {
    return range{*this, first, count}.template visit<T>(g, page_use::write, body);
  }
  /// The same for elements that `g` writes all: pages that lie in the range as a whole are not
  /// fetched, and have any value until they are written.
  template <simt::thread_group G, class Body>
  GNSTOR_HD status overwrite_range(const G& g, std::uint64_t first, std::uint64_t count,
                                   const Body& body) const requires(!reads_only) {
    return range{*this, first, count}.template visit<T>(g, page_use::overwrite, body);
  }

  /// Pins the page of `index` for all lanes of `g` beyond a scope: `release_page` it afterwards.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Order the page's bytes are visible to every lane of `g`
  /// @par Bound, Errors as `page`
  template <simt::thread_group G>
  GNSTOR_HD result<pinned> acquire_page(const G& g, std::uint64_t index,
                                        page_use use = page_use::read) const {
    static_assert(detail::page_of_elements<sizeof(T)>::is_whole);
    if (index >= count_) return status::make(status_code::out_of_range, reporter::array);
    pinned p = extent_of(index);
    const result<frame_index> frame = far::hold(twin_, g, p.page, use_of(p, use));
    if (!frame) return frame.status;
    p.data = reinterpret_cast<T*>(cache_.data(frame.value));
    return p;
  }
  template <simt::thread_group G>
  [[deprecated("name the use: page_use::write")]] GNSTOR_HD result<pinned> acquire_page(
      const G& g, std::uint64_t index, bool write) const {
    return acquire_page(g, index, write ? page_use::write : page_use::read);
  }
  /// Ends one `acquire_page`.
  /// @par Callers every lane of `g`, converged
  /// @par Order what the group did to the page is released to whoever evicts it
  template <simt::thread_group G>
  GNSTOR_HD void release_page(const G& g, const pinned& p) const {
    g.sync();
    if (g.thread_rank() == 0) cache_.unpin(p.page);
  }

  /// Writes page `page` back if it is dirty. For a kernel that walks all pages; see `flush_pages`.
  /// @par Callers one lane
  GNSTOR_HD status flush(page_index page) const { return flush(simt::group::self(), page, true); }
  /// The same of a page per lane that `wants` it.
  /// @par Callers every lane of `g`, converged
  template <simt::warp_group G>
  GNSTOR_HD status flush(const G& g, page_index page, bool wants) const {
    return cache_.flush(g, page, wants, simt::within(timeout_ns_));
  }

 private:
  using far = detail::far_access<mutable_view>;
  using range = detail::array_range<array_view>;
  template <class, array_store>
  friend class array_view;
  template <simt::warp_group, class...>
  friend class page_set;
  friend class cached_reader<array_view>;
  friend struct detail::far_access<mutable_view>;

  /// The page of `index`, which is not held yet.
  GNSTOR_HD pinned extent_of(std::uint64_t index) const requires layout_type::never_straddles {
    pinned p;
    p.first = layout_.first_beside(index);
    const bool ends_here = count_ - p.first < elements_per_page();
    p.count = static_cast<std::uint32_t>(ends_here ? count_ - p.first : elements_per_page());
    p.page = layout_.page_of(index);
    return p;
  }
  /// What lies behind the last element, on its page, is not the caller's to overwrite.
  GNSTOR_HD page_use use_of(const pinned& p,
                            page_use use) const requires layout_type::never_straddles {
    if (use == page_use::overwrite && p.count != elements_per_page()) use = page_use::write;
    return use;
  }
  /// The pages as who holds several of them wants them.
  GNSTOR_HD const cache_type& shared_pages() const { return twin_->cache_; }

  /// Reads an element without a reference, if its page is there and stays.
  GNSTOR_HD bool peek(std::uint64_t index, value_type& value) const {
    if (index >= count_ || layout_.straddles(index)) return false;
    const page_index page = layout_.page_of(index);
    const auto seen = cache_.look(page);
    if (!seen.readable()) return false;
    value = simt::load_pieces<value_type>(
        layout_.find(cache_.data(frame_index(0)), seen.frame(), index), acquire);
    return cache_.is_still(page, seen);
  }
  cache_type cache_;
  std::uint64_t count_;
  std::uint64_t timeout_ns_;
  layout_type layout_;
  const mutable_view* twin_;
};

}  // namespace gnstor::inline v0

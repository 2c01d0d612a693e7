#pragma once

#include <gnstor/array/array_element.hpp>
#include <gnstor/array/copied_pages.hpp>
#include <gnstor/array/element_layout.hpp>
#include <gnstor/array/page_cache.hpp>
#include <gnstor/array/page_guard.hpp>
#include <gnstor/array/page_set.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/array/served_pages.hpp>
#include <gnstor/array/visit_together.hpp>
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
  static constexpr bool fits_pages = Bytes <= 4096 && (Bytes & (Bytes - 1)) == 0;
  static_assert(fits_pages,
                "an element must not straddle pages: sizeof(T) has to be a power of two up to "
                "4096; pad it, as struct alignas(16) makes 12 bytes 16, or use an array for each "
                "member");
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
  using type = served_pages;
};

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

template <class View>
class cached_reader;

/// `count` elements of `T` on a page store, used by index from any lane (a reference, passed by
/// value).
///
/// `view[i]` reads, `view[i] = x`, `view[i] += x` and so on write. An element is not atomic: lanes
/// that write the same one race, as they do on ordinary memory, but for `atomicAdd(view[i], x)`. An
/// error is never silent: `load` and `store` return it, a read of `view[i]` yields bytes of
/// `poison_byte`, and the array keeps its first error, which the host's `flush` and `close` throw.
/// A write that fails changes nothing.
///
/// A read of a page that is there takes no reference: page word, element, page word again. What is
/// rarer is out of line, on a copy of the view in the kernels' memory, so that kernels carry
/// little.
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
  GNSTOR_HD const element_layout<value_type>& layout() const { return layout_; }
  GNSTOR_HD std::uint64_t elements_per_page() const { return layout_.elements_per_page(); }

  GNSTOR_HD element operator[](std::uint64_t index) const { return element(*this, index); }

  /// Reads element `index`.
  /// @par Callers any lane, converged or not
  /// @par Bound the view's timeout
  /// @par Errors out_of_range; the page's status, see `pin` of `cache_type`
  GNSTOR_HD result<value_type> load(std::uint64_t index) const {
    value_type value{};
    if (peek(index, value)) return value;
    return load_absent(twin_, index);
  }
  /// The same; where it fails, bytes of `poison_byte`, and the array has the error.
  GNSTOR_HD value_type load_or_poison(std::uint64_t index) const {
    value_type value{};
    if (peek(index, value)) return value;
    return load_absent_or_poison(twin_, index);
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
    const result<value_type> missed = load_absent_together(twin_, g, index, misses);
    if (misses) return missed;
    return value;
  }

  /// Writes element `index`; it reaches the store when its page is evicted or flushed.
  /// @par Callers, Bound, Errors as `load`
  GNSTOR_HD status store(std::uint64_t index, const value_type& value) const requires(!reads_only) {
    return store_far(twin_, index, value);
  }
  /// The same; where it fails, the array has the error.
  GNSTOR_HD void store_or_keep(std::uint64_t index, const value_type& value) const
      requires(!reads_only) {
    store_far_or_keep(twin_, index, value);
  }
  /// Element `index` becomes `next(element)`; not in one step. Where it fails, the array has the
  /// error, and nothing is changed.
  /// @par Callers, Bound as `load`
  template <class Next>
  GNSTOR_HD void change(std::uint64_t index, const Next& next) const requires(!reads_only) {
    change_far(twin_, index, next);
  }
  /// Adds `x` to element `index` in one step, a number of 4 or 8 bytes: the value before.
  /// @par Callers, Bound, Errors as `load`
  GNSTOR_HD result<value_type> fetch_add(std::uint64_t index, const value_type& x) const
      requires(!reads_only && simt::addable<value_type>) {
    return fetch_add_far(twin_, index, x);
  }
  GNSTOR_HD value_type fetch_add_or_poison(std::uint64_t index, const value_type& x) const
      requires(!reads_only && simt::addable<value_type>) {
    const result<value_type> before = fetch_add_far(twin_, index, x);
    return before ? before.value : keep_and_poison(twin_, index, before.status);
  }
  /// Has the page of `index` fetched, without waiting, where others fetch pages; else does nothing.
  /// @par Callers any lane
  GNSTOR_HD void prefetch(std::uint64_t index) const {
    if constexpr (served_page_store<Store>) {
      if (index < count_) prefetch_far(twin_, layout_.page_of(index));
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

  /// Pins the page of `index` for all lanes of `g` beyond a scope: `release_page` it afterwards.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Order the page's bytes are visible to every lane of `g`
  /// @par Bound, Errors as `page`
  template <simt::thread_group G>
  GNSTOR_HD result<pinned> acquire_page(const G& g, std::uint64_t index,
                                        page_use use = page_use::read) const {
    if (index >= count_) return status::make(status_code::out_of_range, reporter::array);
    pinned p = extent_of(index);
    const result<frame_index> frame = hold_far(twin_, g, p.page, use_of(p, use));
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
  template <class, array_store>
  friend class array_view;
  template <simt::warp_group, class...>
  friend class page_set;
  friend class cached_reader<array_view>;

  /// The page of `index`, which is not held yet.
  GNSTOR_HD pinned extent_of(std::uint64_t index) const {
    pinned p;
    p.first = layout_.first_beside(index);
    const bool ends_here = count_ - p.first < elements_per_page();
    p.count = static_cast<std::uint32_t>(ends_here ? count_ - p.first : elements_per_page());
    p.page = layout_.page_of(index);
    return p;
  }
  /// What lies behind the last element, on its page, is not the caller's to overwrite.
  GNSTOR_HD page_use use_of(const pinned& p, page_use use) const {
    if (use == page_use::overwrite && p.count != elements_per_page()) use = page_use::write;
    return use;
  }
  /// The pages as who holds several of them wants them.
  GNSTOR_HD const cache_type& shared_pages() const { return twin_->cache_; }

  GNSTOR_HD static value_type get(unsigned char* there) {
    return simt::load_pieces<value_type>(there, relaxed);
  }

  /// Reads an element without a reference, if its page is there and stays.
  GNSTOR_HD bool peek(std::uint64_t index, value_type& value) const {
    if (index >= count_) return false;
    const page_index page = layout_.page_of(index);
    const page_word seen = cache_.look(page);
    if (!seen.readable()) return false;
    value = simt::load_pieces<value_type>(
        layout_.find(cache_.data(frame_index(0)), seen.frame(), index), acquire);
    return cache_.is_still(page, seen);
  }
  GNSTOR_HD result<value_type> load_pinned(std::uint64_t index) const {
    value_type value{};
    const status s =
        access(index, page_use::read, [&value](unsigned char* there) { value = get(there); });
    if (!s.ok()) return s;
    return value;
  }
  GNSTOR_HD status store_pinned(std::uint64_t index, const value_type& value) const {
    return access(index, page_use::write,
                  [&value](unsigned char* there) { simt::store_relaxed(there, value); });
  }

  // What is off the hot path, in functions of their own, on the view's twin.
  GNSTOR_HD_SLOW static result<value_type> load_absent(const mutable_view* self,
                                                       std::uint64_t index) {
    return self->load_pinned(index);
  }
  template <class G>
  GNSTOR_HD_SLOW static result<value_type> load_absent_together(const mutable_view* self, G g,
                                                                std::uint64_t index, bool misses) {
    const bool beyond = index >= self->count_;
    const bool wants = misses && !beyond;
    value_type value{};
    status s;
    if (g.any(wants)) {
      s = detail::visit_together(
          g, self->cache_, self->layout_.page_of(index), page_use::read, wants, self->timeout_ns_,
          [&](unsigned char* bytes) { value = get(bytes + self->layout_.offset_of(index)); });
    }
    if (misses && beyond) s = status::make(status_code::out_of_range, reporter::array);
    if (!s.ok()) return s;
    return value;
  }
  GNSTOR_HD_SLOW static value_type load_absent_or_poison(const mutable_view* self,
                                                         std::uint64_t index) {
    const result<value_type> r = self->load_pinned(index);
    return r ? r.value : keep_and_poison(self, index, r.status);
  }
  GNSTOR_HD_SLOW static status store_far(const mutable_view* self, std::uint64_t index,
                                         value_type value) {
    return self->store_pinned(index, value);
  }
  GNSTOR_HD_SLOW static void store_far_or_keep(const mutable_view* self, std::uint64_t index,
                                               value_type value) {
    self->keep(self->store_pinned(index, value), index);
  }
  template <class Next>
  GNSTOR_HD_SLOW static void change_far(const mutable_view* self, std::uint64_t index, Next next) {
    self->keep(self->access(index, page_use::write,
                            [&next](unsigned char* there) {
                              simt::store_relaxed(there, static_cast<value_type>(next(get(there))));
                            }),
               index);
  }
  GNSTOR_HD_SLOW static result<value_type> fetch_add_far(const mutable_view* self,
                                                         std::uint64_t index, value_type x) {
    value_type before{};
    const status s = self->access(index, page_use::write, [&before, x](unsigned char* there) {
      before = simt::fetch_add_relaxed(there, x);
    });
    if (!s.ok()) return s;
    return before;
  }
  template <class G>
  GNSTOR_HD_SLOW static result<frame_index> hold_far(const mutable_view* self, G g, page_index page,
                                                     page_use use) {
    return detail::hold_of(g, self->cache_, page, use, self->timeout_ns_);
  }
  GNSTOR_HD_SLOW static void prefetch_far(const mutable_view* self, page_index page) {
    self->cache_.prefetch(page);
  }
  GNSTOR_HD_SLOW static value_type keep_and_poison(const mutable_view* self, std::uint64_t index,
                                                   status s) {
    self->keep(s, index);
    value_type poison;
    auto* bytes = reinterpret_cast<unsigned char*>(&poison);
    for (std::uint32_t k = 0; k < sizeof(T); ++k) bytes[k] = poison_byte;
    return poison;
  }

  /// Calls `use` with the bytes of element `index` while its page is pinned.
  template <class Use>
  GNSTOR_HD status access(std::uint64_t index, page_use why, const Use& use) const {
    if (index >= count_) return status::make(status_code::out_of_range, reporter::array);
    return cache_.visit(layout_.page_of(index), why, timeout_ns_,
                        [&](unsigned char* bytes) { use(bytes + layout_.offset_of(index)); });
  }
  /// Keeps what failed.
  GNSTOR_HD void keep(status s, std::uint64_t index) const {
    if (s.ok()) return;
    const bool beyond = s.code == status_code::out_of_range && s.by == reporter::array;
    cache_.keep(s, beyond ? index : layout_.page_of(index).value);
  }

  cache_type cache_;
  std::uint64_t count_;
  std::uint64_t timeout_ns_;
  element_layout<value_type> layout_;
  const mutable_view* twin_;
};

}  // namespace gnstor::inline v0

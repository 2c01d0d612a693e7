#pragma once

#include <gnstor/array/copied_pages.hpp>
#include <gnstor/array/page_cache.hpp>
#include <gnstor/array/page_guard.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/relaxed_bytes.hpp>

#include <type_traits>

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

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

/// `count` elements of `T` on a page store, used by index from any lane (a reference, passed by
/// value).
///
/// `view[i]` reads, `view[i] = x` and `view[i] += x` write; lanes of a warp on the same page share
/// one look-up. An element is not atomic: lanes that write the same one race, as they do on
/// ordinary memory. An error is never silent: `load` and `store` return it, a read of `view[i]`
/// yields bytes of `poison_byte`, and the array keeps its first error, which the host's `flush` and
/// `close` throw. A write that fails changes nothing.
template <class T, array_store Store>
class array_view {
  static_assert(std::is_trivially_copyable_v<T>, "elements are moved as bytes");
  static_assert(detail::element_of_bytes<sizeof(T)>::fits_pages);

 public:
  using value_type = T;
  using cache_type = typename detail::pages_of<Store>::type;
  static constexpr unsigned char poison_byte = 0xdb;

  /// What `view[i]` returns: reads on conversion, writes on assignment.
  class element {
   public:
    GNSTOR_HD element(const array_view& view, std::uint64_t index) : view_(&view), index_(index) {}
    element(const element&) = delete;

    GNSTOR_HD operator T() const {
      return view_->load_or_poison(index_);
    }  // NOLINT: it stands for the value
    GNSTOR_HD const element& operator=(const T& value) const {
      view_->store_or_keep(index_, value);
      return *this;
    }
    GNSTOR_HD const element& operator=(const element& other) const {
      return *this = static_cast<T>(other);
    }
    GNSTOR_HD const element& operator+=(const T& value) const {
      return change([value](const T& there) { return static_cast<T>(there + value); });
    }
    GNSTOR_HD const element& operator-=(const T& value) const {
      return change([value](const T& there) { return static_cast<T>(there - value); });
    }

   private:
    template <class Next>
    GNSTOR_HD const element& change(const Next& next) const {
      view_->change(index_, next);
      return *this;
    }

    const array_view* view_;
    std::uint64_t index_;
  };

  /// A page held in its frame for many accesses.
  struct pinned {
    T* data = nullptr;        ///< element `first`
    std::uint64_t first = 0;  ///< index of the page's first element
    std::uint32_t count = 0;  ///< elements on the page
    page_index page{};

    GNSTOR_HD T& operator[](std::uint64_t index) const { return data[index - first]; }
    GNSTOR_HD bool holds(std::uint64_t index) const { return index - first < count; }
  };

  GNSTOR_HD array_view(const cache_type& cache, std::uint64_t count,
                       std::uint64_t timeout_ns) requires page_store<Store>
      : array_view(cache, count, timeout_ns, no_twin{}) {}
  /// @param twin room for a copy of this view, which its maker puts there, in memory that kernels
  /// reach: what is off the hot path finds everything there, so that kernels carry little
  GNSTOR_HD array_view(const cache_type& cache, std::uint64_t count, std::uint64_t timeout_ns,
                       const array_view* twin) requires mapped_page_store<Store>
      : cache_(cache),
        count_(count),
        timeout_ns_(timeout_ns),
        shift_(shift_of(cache)),
        twin_(twin) {}

  GNSTOR_HD std::uint64_t size() const { return count_; }
  GNSTOR_HD const cache_type& cache() const { return cache_; }
  GNSTOR_HD std::uint64_t elements_per_page() const { return std::uint64_t{1} << shift_; }

  GNSTOR_HD element operator[](std::uint64_t index) const { return element(*this, index); }

  /// Reads element `index`.
  /// @par Callers any lane, converged or not
  /// @par Bound the view's timeout
  /// @par Errors out_of_range; the page's status, see `page_cache::pin`
  GNSTOR_HD result<T> load(std::uint64_t index) const {
    if constexpr (is_mapped) {
      T value{};
      if (peek(index, value)) return value;
      return load_absent(twin_, index);
    } else {
      return load_pinned(index);
    }
  }

  /// Writes element `index`; it reaches the store when its page is evicted or flushed.
  /// @par Callers, Bound, Errors as `load`
  GNSTOR_HD status store(std::uint64_t index, const T& value) const {
    if constexpr (is_mapped) {
      return store_far(twin_, index, value);
    } else {
      return store_pinned(index, value);
    }
  }

  /// Holds the page of `index` for all lanes of `g` until the end of the scope, once for many
  /// reads: `const auto page = view.page(g, i); if (page && page.holds(k)) sum += page[k];`.
  /// @par Callers every lane of `g`, converged, with the same arguments; so is the end of the scope
  /// @par Result every lane the same; false, with the reason in `outcome()`, if no page is held
  /// @par Order the page's bytes are visible to every lane of `g`
  /// @par Bound the view's timeout
  /// @par Errors out_of_range; the page's status, see `page_cache::pin`
  template <simt::warp_group G>
  [[nodiscard]] GNSTOR_HD page_guard<const T, array_view, G> page(const G& g,
                                                                  std::uint64_t index) const {
    return {*this, g, acquire_page(g, index, page_use::read)};
  }
  /// The same for writing: the page reaches the store when it is evicted or flushed.
  /// @par Callers, Result, Order, Bound, Errors as `page`
  template <simt::warp_group G>
  [[nodiscard]] GNSTOR_HD page_guard<T, array_view, G> writable_page(const G& g,
                                                                     std::uint64_t index) const {
    return {*this, g, acquire_page(g, index, page_use::write)};
  }
  /// The same for a page that `g` writes whole: it is not fetched. Until every one of its elements
  /// has been written they have any value, also for others who read them.
  /// @par Callers, Result, Order, Bound, Errors as `page`
  template <simt::warp_group G>
  [[nodiscard]] GNSTOR_HD page_guard<T, array_view, G> overwritten_page(const G& g,
                                                                        std::uint64_t index) const {
    return {*this, g, acquire_page(g, index, page_use::overwrite)};
  }

  /// Pins the page of `index` for all lanes of `g` beyond a scope: `release_page` it afterwards.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Order the page's bytes are visible to every lane of `g`
  /// @par Bound, Errors as `page`
  template <simt::warp_group G>
  GNSTOR_HD result<pinned> acquire_page(const G& g, std::uint64_t index,
                                        page_use use = page_use::read) const {
    if (index >= count_) return status::make(status_code::out_of_range, reporter::array);
    const page_index page = page_of(index);
    pinned p;
    p.first = index >> shift_ << shift_;
    // What lies behind the last element, on its page, is not the caller's to overwrite.
    const bool ends_here = count_ - p.first < elements_per_page();
    if (use == page_use::overwrite && ends_here) use = page_use::write;
    const result<frame_index> frame = hold(g, page, use);
    if (!frame) return frame.status;
    p.data = reinterpret_cast<T*>(cache_.data(frame.value));
    p.count = static_cast<std::uint32_t>(ends_here ? count_ - p.first : elements_per_page());
    p.page = page;
    return p;
  }
  template <simt::warp_group G>
  [[deprecated("name the use: page_use::write")]] GNSTOR_HD result<pinned> acquire_page(
      const G& g, std::uint64_t index, bool write) const {
    return acquire_page(g, index, write ? page_use::write : page_use::read);
  }
  /// Ends one `acquire_page`.
  /// @par Callers every lane of `g`, converged
  /// @par Order what the group did to the page is released to whoever evicts it
  template <simt::warp_group G>
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
  /// Frames of mapped pages may be filled anew while a lane reads there that has no reference.
  static constexpr bool is_mapped = mapped_page_store<Store>;
  struct no_twin {};
  using twin_type = std::conditional_t<is_mapped, const array_view*, no_twin>;

  GNSTOR_HD array_view(const cache_type& cache, std::uint64_t count, std::uint64_t timeout_ns,
                       no_twin twin)
      : cache_(cache),
        count_(count),
        timeout_ns_(timeout_ns),
        shift_(shift_of(cache)),
        twin_(twin) {}

  GNSTOR_HD static std::uint32_t shift_of(const cache_type& cache) {
    return static_cast<std::uint32_t>(
        cuda::std::countr_zero(cache.store().page_bytes() / sizeof(T)));
  }
  GNSTOR_HD page_index page_of(std::uint64_t index) const {
    return page_index(static_cast<std::uint32_t>(index >> shift_));
  }

  GNSTOR_HD static T get(unsigned char* there) {
    if constexpr (is_mapped) {
      return simt::load_pieces<T>(there, relaxed);
    } else {
      return *reinterpret_cast<T*>(there);
    }
  }
  GNSTOR_HD static void put(unsigned char* there, const T& value) {
    if constexpr (is_mapped) {
      simt::store_relaxed(there, value);
    } else {
      *reinterpret_cast<T*>(there) = value;
    }
  }
  /// An element's offset within its page.
  GNSTOR_HD std::uint64_t offset_of(std::uint64_t index) const {
    return (index & (elements_per_page() - 1)) * sizeof(T);
  }

  /// Reads an element without a reference, if its page is there and stays.
  GNSTOR_HD bool peek(std::uint64_t index, T& value) const {
    if (index >= count_) return false;
    const page_index page = page_of(index);
    const page_word seen = cache_.look(page);
    if (!seen.usable()) return false;
    const std::uint64_t before = std::uint64_t{seen.frame().value} << shift_;
    T* const frames = reinterpret_cast<T*>(cache_.data(frame_index(0)));
    value = simt::load_pieces<T>(frames + (before | (index & (elements_per_page() - 1))), acquire);
    return cache_.is_still(page, seen);
  }
  GNSTOR_HD result<T> load_pinned(std::uint64_t index) const {
    T value{};
    const status s =
        access(index, page_use::read, [&value](unsigned char* there) { value = get(there); });
    if (!s.ok()) return s;
    return value;
  }
  GNSTOR_HD status store_pinned(std::uint64_t index, const T& value) const {
    return access(index, page_use::write, [&value](unsigned char* there) { put(there, value); });
  }
  GNSTOR_HD void store_pinned_or_keep(std::uint64_t index, const T& value) const {
    const status s = store_pinned(index, value);
    if (!s.ok()) keep(s, index);
  }
  template <class Next>
  GNSTOR_HD void change_pinned(std::uint64_t index, const Next& next) const {
    const status s = access(index, page_use::write,
                            [&next](unsigned char* there) { put(there, next(get(there))); });
    if (!s.ok()) keep(s, index);
  }

  // What mapped pages do in functions of their own, on the view's twin.
  GNSTOR_HD_SLOW static result<T> load_absent(const array_view* self, std::uint64_t index) {
    return self->load_pinned(index);
  }
  GNSTOR_HD_SLOW static T load_absent_or_poison(const array_view* self, std::uint64_t index) {
    return self->load_pinned_or_poison(index);
  }
  GNSTOR_HD_SLOW static status store_far(const array_view* self, std::uint64_t index, T value) {
    return self->store_pinned(index, value);
  }
  GNSTOR_HD_SLOW static void store_far_or_keep(const array_view* self, std::uint64_t index,
                                               T value) {
    self->store_pinned_or_keep(index, value);
  }
  template <class Next>
  GNSTOR_HD_SLOW static void change_far(const array_view* self, std::uint64_t index, Next next) {
    self->change_pinned(index, next);
  }
  template <class G>
  GNSTOR_HD_SLOW static result<frame_index> hold_far(const array_view* self, G g, page_index page,
                                                     page_use use) {
    return self->cache_.hold(g, page, use, self->timeout_ns_);
  }

  GNSTOR_HD void store_or_keep(std::uint64_t index, const T& value) const {
    if constexpr (is_mapped) {
      store_far_or_keep(twin_, index, value);
    } else {
      store_pinned_or_keep(index, value);
    }
  }
  template <class Next>
  GNSTOR_HD void change(std::uint64_t index, const Next& next) const {
    if constexpr (is_mapped) {
      change_far(twin_, index, next);
    } else {
      change_pinned(index, next);
    }
  }
  template <class G>
  GNSTOR_HD result<frame_index> hold(const G& g, page_index page, page_use use) const {
    if constexpr (is_mapped) {
      return hold_far(twin_, g, page, use);
    } else {
      return cache_.hold(g, page, use, timeout_ns_);
    }
  }

  /// Calls `use` with the bytes of element `index` while its page is pinned.
  template <class Use>
  GNSTOR_HD status access(std::uint64_t index, page_use why, const Use& use) const {
    if (index >= count_) return status::make(status_code::out_of_range, reporter::array);
    return cache_.visit(page_of(index), why, timeout_ns_,
                        [&](unsigned char* bytes) { use(bytes + offset_of(index)); });
  }

  GNSTOR_HD void keep(status s, std::uint64_t index) const {
    const bool beyond = s.code == status_code::out_of_range && s.by == reporter::array;
    cache_.keep(s, beyond ? index : index >> shift_);
  }

  GNSTOR_HD T load_or_poison(std::uint64_t index) const {
    if constexpr (is_mapped) {
      T value{};
      if (peek(index, value)) return value;
      return load_absent_or_poison(twin_, index);
    } else {
      return load_pinned_or_poison(index);
    }
  }
  GNSTOR_HD T load_pinned_or_poison(std::uint64_t index) const {
    const result<T> r = load_pinned(index);
    if (r) return r.value;
    keep(r.status, index);
    T poison;
    auto* bytes = reinterpret_cast<unsigned char*>(&poison);
    for (std::uint32_t k = 0; k < sizeof(T); ++k) bytes[k] = poison_byte;
    return poison;
  }

  cache_type cache_;
  std::uint64_t count_;
  std::uint64_t timeout_ns_;
  std::uint32_t shift_;
  [[no_unique_address]] twin_type twin_;
};

}  // namespace gnstor::inline v0

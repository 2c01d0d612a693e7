#pragma once

#include <gnstor/array/page_cache.hpp>
#include <gnstor/array/page_guard.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/simt/lane.hpp>

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
template <class T, page_store Store>
class array_view {
  static_assert(std::is_trivially_copyable_v<T>, "elements are moved as bytes");
  static_assert(detail::element_of_bytes<sizeof(T)>::fits_pages);

 public:
  using value_type = T;
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
      return change([&value](T& there) { there = value; });
    }
    GNSTOR_HD const element& operator=(const element& other) const {
      return *this = static_cast<T>(other);
    }
    GNSTOR_HD const element& operator+=(const T& value) const {
      return change([&value](T& there) { there = static_cast<T>(there + value); });
    }
    GNSTOR_HD const element& operator-=(const T& value) const {
      return change([&value](T& there) { there = static_cast<T>(there - value); });
    }

   private:
    template <class Use>
    GNSTOR_HD const element& change(const Use& use) const {
      const status s = view_->access(index_, page_use::write, use);
      if (!s.ok()) view_->keep(s, index_);
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

  GNSTOR_HD array_view(const page_cache<Store>& cache, std::uint64_t count,
                       std::uint64_t timeout_ns)
      : cache_(cache),
        count_(count),
        timeout_ns_(timeout_ns),
        shift_(static_cast<std::uint32_t>(
            cuda::std::countr_zero(cache.store().page_bytes() / sizeof(T)))) {}

  GNSTOR_HD std::uint64_t size() const { return count_; }
  GNSTOR_HD const page_cache<Store>& cache() const { return cache_; }
  GNSTOR_HD std::uint64_t elements_per_page() const { return std::uint64_t{1} << shift_; }

  GNSTOR_HD element operator[](std::uint64_t index) const { return element(*this, index); }

  /// Reads element `index`.
  /// @par Callers any lane, converged or not
  /// @par Bound the view's timeout
  /// @par Errors out_of_range; the page's status, see `page_cache::pin`
  GNSTOR_HD result<T> load(std::uint64_t index) const {
    T value{};
    const status s = access(index, page_use::read, [&value](const T& there) { value = there; });
    if (!s.ok()) return s;
    return value;
  }

  /// Writes element `index`; it reaches the store when its page is evicted or flushed.
  /// @par Callers, Bound, Errors as `load`
  GNSTOR_HD status store(std::uint64_t index, const T& value) const {
    return access(index, page_use::write, [&value](T& there) { there = value; });
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

  /// Pins the page of `index` for all lanes of `g` beyond a scope: `release_page` it afterwards.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Order the page's bytes are visible to every lane of `g`
  /// @par Bound, Errors as `page`
  template <simt::warp_group G>
  GNSTOR_HD result<pinned> acquire_page(const G& g, std::uint64_t index,
                                        page_use use = page_use::read) const {
    if (index >= count_) return status::make(status_code::out_of_range, reporter::array);
    const page_index page = page_of(index);
    result<frame_index> frame = frame_index{};
    if (g.thread_rank() == 0) {
      frame = cache_.pin(page, use, simt::within(timeout_ns_));
    }
    frame.status = status::unpack(g.shfl(frame.status.pack(), 0));
    frame.value = frame_index(g.shfl(frame.value.value, 0));
    g.sync();
    if (!frame) return frame.status;
    pinned p;
    p.first = index >> shift_ << shift_;
    p.data = reinterpret_cast<T*>(cache_.data(frame.value));
    p.count = static_cast<std::uint32_t>(
        count_ - p.first < elements_per_page() ? count_ - p.first : elements_per_page());
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
  GNSTOR_HD status flush(page_index page) const {
    return cache_.flush(page, simt::within(timeout_ns_));
  }

 private:
  GNSTOR_HD page_index page_of(std::uint64_t index) const {
    return page_index(static_cast<std::uint32_t>(index >> shift_));
  }

  template <class Use>
  GNSTOR_HD status access(std::uint64_t index, page_use why, const Use& use) const {
    if (index >= count_) return status::make(status_code::out_of_range, reporter::array);
    const page_index page = page_of(index);
    // Lanes of one warp may use different arrays here, and some may read while others write.
    const simt::group same =
        simt::group::active().partition(cache_.key(page) | static_cast<std::uint64_t>(why));
    result<frame_index> frame = frame_index{};
    if (same.leads()) frame = cache_.pin(page, why, simt::within(timeout_ns_));
    const std::uint64_t packed =
        same.broadcast(frame ? frame.value.value : frame.status.pack() | failed_access);
    same.sync();  // the leader's acquire of the page reaches the lanes that touch it
    if ((packed & failed_access) != 0) return status::unpack(packed & ~failed_access);
    const frame_index f(static_cast<std::uint32_t>(packed));
    use(reinterpret_cast<T*>(cache_.data(f))[index & (elements_per_page() - 1)]);
    same.sync();  // all lanes are done before the leader lets the page go
    if (same.leads()) cache_.unpin(page);
    return status{};
  }

  GNSTOR_HD void keep(status s, std::uint64_t index) const {
    const bool beyond = s.code == status_code::out_of_range && s.by == reporter::array;
    cache_.keep(s, beyond ? index : index >> shift_);
  }

  GNSTOR_HD T load_or_poison(std::uint64_t index) const {
    const result<T> r = load(index);
    if (r) return r.value;
    keep(r.status, index);
    T poison;
    auto* bytes = reinterpret_cast<unsigned char*>(&poison);
    for (std::uint32_t k = 0; k < sizeof(T); ++k) bytes[k] = poison_byte;
    return poison;
  }

  /// Marks a packed status among packed frames: no status uses the top bit (SSD indices are below
  /// 32768).
  static constexpr std::uint64_t failed_access = 1ull << 63;

  page_cache<Store> cache_;
  std::uint64_t count_;
  std::uint64_t timeout_ns_;
  std::uint32_t shift_;
};

}  // namespace gnstor::inline v0

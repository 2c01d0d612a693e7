#pragma once

#include <gnstor/array/page_guard.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/simt/group.hpp>

#include <cuda/std/tuple>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace support {

/// Elements at a pointer, used as an `array_view` is: kernels templated on their view run on it
/// unchanged, so that what they are compared with differs in the memory alone. The pointer is one
/// that the kernels' machine reaches: managed, pinned or device memory.
///
/// There is nothing to fetch and nothing to hold; pages are how the kernels divide their work.
/// @tparam T an element; const for memory that is only read
template <class T>
class pointer_view {
 public:
  using value_type = std::remove_const_t<T>;
  /// See `array_view::pinned`.
  struct pinned {
    T* data = nullptr;
    std::uint64_t first = 0;
    std::uint32_t count = 0;

    GNSTOR_HD T& operator[](std::uint64_t index) const { return data[index - first]; }
    GNSTOR_HD bool holds(std::uint64_t index) const { return index - first < count; }
  };

  /// @param page_elements a power of two
  pointer_view(T* data, std::uint64_t count, std::uint32_t page_elements)
      : data_(data), count_(count), page_elements_(page_elements) {}

  GNSTOR_HD std::uint64_t size() const { return count_; }
  GNSTOR_HD std::uint64_t elements_per_page() const { return page_elements_; }
  GNSTOR_HD T& operator[](std::uint64_t index) const { return data_[index]; }

  GNSTOR_HD gnstor::result<value_type> load(std::uint64_t index) const {
    if (index >= count_) return beyond();
    return data_[index];
  }
  GNSTOR_HD gnstor::status store(std::uint64_t index, const value_type& value) const {
    if (index >= count_) return beyond();
    data_[index] = value;
    return {};
  }

  template <gnstor::simt::warp_group G>
  GNSTOR_HD gnstor::result<pinned> acquire_page(const G&, std::uint64_t index,
                                                gnstor::page_use = gnstor::page_use::read) const {
    if (index >= count_) return beyond();
    pinned p;
    p.first = index & ~std::uint64_t{page_elements_ - 1};
    p.data = data_ + p.first;
    const std::uint64_t rest = count_ - p.first;
    p.count = rest < page_elements_ ? static_cast<std::uint32_t>(rest) : page_elements_;
    return p;
  }
  template <gnstor::simt::warp_group G>
  GNSTOR_HD void release_page(const G&, const pinned&) const {}

  template <gnstor::simt::warp_group G>
  [[nodiscard]] GNSTOR_HD gnstor::page_guard<const T, pointer_view, G> page(
      const G& g, std::uint64_t index) const {
    return {*this, g, acquire_page(g, index)};
  }
  template <gnstor::simt::warp_group G>
  [[nodiscard]] GNSTOR_HD gnstor::page_guard<T, pointer_view, G> writable_page(
      const G& g, std::uint64_t index) const {
    return {*this, g, acquire_page(g, index)};
  }
  template <gnstor::simt::warp_group G>
  [[nodiscard]] GNSTOR_HD gnstor::page_guard<T, pointer_view, G> overwritten_page(
      const G& g, std::uint64_t index) const {
    return {*this, g, acquire_page(g, index)};
  }

 private:
  GNSTOR_HD static gnstor::status beyond() {
    return gnstor::status::make(gnstor::status_code::out_of_range, gnstor::reporter::array);
  }

  T* data_;
  std::uint64_t count_;
  std::uint32_t page_elements_;
};

/// A page of a `pointer_view` that is to be held beside others: for `hold_pages`.
template <class T>
struct pointer_request {
  gnstor::result<typename pointer_view<T>::pinned> page;
};
template <class T>
GNSTOR_HD pointer_request<const T> to_read(const pointer_view<T>& view, std::uint64_t index) {
  const auto page = view.acquire_page(gnstor::simt::group::self(), index);
  if (!page) return {page.status};
  const typename pointer_view<const T>::pinned same{page.value.data, page.value.first,
                                                    page.value.count};
  return {same};
}
template <class T>
GNSTOR_HD pointer_request<T> to_overwrite(const pointer_view<T>& view, std::uint64_t index) {
  return {view.acquire_page(gnstor::simt::group::self(), index)};
}

/// See `gnstor::page_set`.
template <class... Requests>
struct pointer_pages {
  cuda::std::tuple<Requests...> requests;

  GNSTOR_HD explicit operator bool() const {
    return cuda::std::apply([](const auto&... r) { return (... && r.page.status.ok()); }, requests);
  }
  /// One without elements unless all are there.
  template <std::size_t K>
  GNSTOR_HD auto get() const {
    auto page = cuda::std::get<K>(requests).page.value;
    if (!*this) page.count = 0;
    return page;
  }
};
template <gnstor::simt::warp_group G, class... T>
GNSTOR_HD pointer_pages<pointer_request<T>...> hold_pages(const G&,
                                                          const pointer_request<T>&... requests) {
  return {{requests...}};
}

}  // namespace support

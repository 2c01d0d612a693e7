#pragma once

#include "../../examples/support/pointer_view.hpp"
#include <gnstor/simt/atomic_ref.hpp>

#include <cstdint>

namespace gnstor::benchmarks {

/// Where kernels note the pages of an array that they touch, in the order in which they do. All
/// memory is zero at the start.
///
/// A touch is left out where the page is among the `window` pages noted last. A trace that lacks
/// touches needs no more fetches than the whole one: so the optimum found for it is at most the
/// true one, and hardly less while there are more frames than `window`.
struct touch_recorder {
  std::uint32_t* noted;  ///< per page: 1 + the number of touches when it was noted last
  std::uint32_t* pages;  ///< the trace
  std::uint32_t* count;  ///< touches noted, also those for which there was no room
  std::uint32_t room;    ///< elements of `pages`
  std::uint32_t window = 16;

  /// @par Callers any lane, for itself
  GNSTOR_HD void touch(std::uint32_t page) const {
    const device_word<std::uint32_t> last(noted[page]), all(*count);
    std::uint32_t before = last.load(relaxed);
    const std::uint32_t now = all.load(relaxed);
    if (before != 0 && now - (before - 1) <= window) return;
    // Of the lanes that touch it at once, one notes it.
    if (!last.compare_exchange(before, now + 1, relaxed)) return;
    const std::uint32_t at = all.fetch_add(1, relaxed);
    if (at < room) pages[at] = page;
  }
};

/// Elements at a pointer whose pages are noted as they are touched: with it, kernels that are
/// templated on their view record which pages an array's would touch.
/// @tparam T an element; const for memory that is only read
template <class T>
class traced_view : public support::pointer_view<T> {
  using base = support::pointer_view<T>;

 public:
  using typename base::pinned;
  using typename base::value_type;

  traced_view(const base& view, const touch_recorder& recorder) : base(view), recorder_(recorder) {}

  GNSTOR_HD T& operator[](std::uint64_t index) const {
    note(index);
    return base::operator[](index);
  }
  GNSTOR_HD result<value_type> load(std::uint64_t index) const {
    note(index);
    return base::load(index);
  }
  GNSTOR_HD status store(std::uint64_t index, const value_type& value) const {
    note(index);
    return base::store(index, value);
  }
  template <simt::warp_group G>
  GNSTOR_HD result<pinned> acquire_page(const G& g, std::uint64_t index,
                                        page_use use = page_use::read) const {
    if (g.leads()) note(index);
    return base::acquire_page(g, index, use);
  }
  template <simt::warp_group G>
  [[nodiscard]] GNSTOR_HD page_guard<const T, traced_view, G> page(const G& g,
                                                                   std::uint64_t index) const {
    return {*this, g, acquire_page(g, index)};
  }

 private:
  GNSTOR_HD void note(std::uint64_t index) const {
    if (index < this->size())
      recorder_.touch(static_cast<std::uint32_t>(index / this->elements_per_page()));
  }

  touch_recorder recorder_;
};

}  // namespace gnstor::benchmarks

#pragma once

#include <gnstor/simt/group.hpp>

#include <cstdint>

namespace support {

/// The page of one view that a warp holds: one at a time, so that no warp waits for a frame while
/// it keeps another one of the same array from others.
///
/// All lanes of the warp call `turn_to` and `release` together, with the same arguments; what is
/// held last has to be released.
/// @tparam View `array_view`, or `pointer_view`; it outlives this
template <class View>
class held_page {
 public:
  GNSTOR_HD explicit held_page(const View& view) : view_(&view) {}

  /// Makes the page of element `index` the held one. False if it cannot be had; none is held then.
  GNSTOR_HD bool turn_to(const gnstor::simt::group& warp, std::uint64_t index) {
    if (page_.holds(index)) return true;
    release(warp);
    const auto found = view_->acquire_page(warp, index);
    page_ = found.value;
    return static_cast<bool>(found);
  }
  GNSTOR_HD void release(const gnstor::simt::group& warp) {
    if (page_.count != 0) view_->release_page(warp, page_);
    page_.count = 0;
  }

  GNSTOR_HD bool holds(std::uint64_t index) const { return page_.holds(index); }
  /// Index of the first element beyond the page.
  GNSTOR_HD std::uint64_t end() const { return page_.first + page_.count; }
  /// Element `index` of the array, which is on the page.
  GNSTOR_HD const typename View::value_type& operator[](std::uint64_t index) const {
    return page_[index];
  }

 private:
  const View* view_;
  typename View::pinned page_{};
};

}  // namespace support

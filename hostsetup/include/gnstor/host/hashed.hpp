#pragma once

#include <gnstor/array/hashed_store.hpp>
#include <gnstor/host/array_ground.hpp>

#include <cstdint>

namespace gnstor::host {

/// What an `array` lies on, whose pages have words only while they lie in frames: 24 bytes a frame
/// in all, in place of 8 a page and 8 a frame. For data of a thousand times the frames; an access
/// of a page that is there takes two to three times as long, and statistics know no refetches.
///
///     host::array<float, host::hashed<host::volume_pages>> a(session, volume, count);
///
/// Such an array has frames for itself: it takes no `array_options::pool`.
/// @tparam Pages `volume_pages`, `mapped_pages` or `memory_pages`
template <class Pages>
class hashed : public Pages {
 public:
  using store_type = hashed_store<typename Pages::store_type>;

  using Pages::Pages;
  hashed(const Pages& pages) : Pages(pages) {}  // NOLINT: the same, otherwise kept

  detail::array_ground ground() const {
    detail::array_ground g = Pages::ground();
    g.hashed = true;
    return g;
  }
  store_type store(std::uint32_t page_bytes) const { return Pages::store(page_bytes); }
};

}  // namespace gnstor::host

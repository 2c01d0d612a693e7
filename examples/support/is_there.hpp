#pragma once

#include <gnstor/core/config.hpp>
#include <gnstor/core/units.hpp>

#include <cstdint>

namespace support {

/// True of views whose pages may have to be fetched: arrays', and no pointers'.
template <class View>
concept paged_view = requires(const View& v) {
  v.cache().look(gnstor::page_index(0)).usable();
};

/// True if the page of element `index` is in a frame now, so that an access does not wait for it.
/// It may be gone at once.
/// @par Callers any lane
template <class View>
GNSTOR_HD bool is_there(const View& view, std::uint64_t index) {
  if constexpr (paged_view<View>) {
    const auto page = static_cast<std::uint32_t>(index / view.elements_per_page());
    return view.cache().look(gnstor::page_index(page)).usable();
  } else {
    return true;
  }
}

}  // namespace support

#pragma once

#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <cstdint>

namespace dense {

/// c = a + b, one warp per page in turn. `c[i] = a[i] + b[i]` does the same an element at a time;
/// held pages are looked up once for all their elements.
struct add_pages {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View a, View b, View c, std::uint64_t* failures) const {
    const auto warp = lane.warp();
    const std::uint64_t page = c.elements_per_page();
    const std::uint64_t stride = gnstor::simt::warp_count() * page;
    for (std::uint64_t i = gnstor::simt::warp_number() * page; i < c.size(); i += stride) {
      const auto x = a.page(warp, i);
      const auto y = b.page(warp, i);
      bool done = false;
      if (x && y) {
        const auto z = c.overwritten_page(warp, i);
        for (std::uint64_t k = i + warp.thread_rank(); z.holds(k); k += warp.size()) {
          z[k] = x[k] + y[k];
        }
        done = static_cast<bool>(z);
      }
      if (!done && warp.leads())
        gnstor::device_word<std::uint64_t>(*failures).fetch_add(1, gnstor::relaxed);
    }
  }
};

}  // namespace dense

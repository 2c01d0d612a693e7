#pragma once

#include <gnstor/array/page_set.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <cstdint>

namespace dense {

/// c = a + b, one warp per page in turn. `c[i] = a[i] + b[i]` does the same an element at a time;
/// held pages are looked up once for all their elements.
struct add_pages {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View a, View b, View c, std::uint64_t* failures) const {
    using gnstor::hold_pages, gnstor::to_read, gnstor::to_overwrite;
    const auto warp = lane.warp();
    const std::uint64_t page = c.elements_per_page();
    const std::uint64_t stride = gnstor::simt::warp_count() * page;
    for (std::uint64_t i = gnstor::simt::warp_number() * page; i < c.size(); i += stride) {
      // All three at once: warps that held two and waited for the third could wait for each other.
      const auto pages = hold_pages(warp, to_read(a, i), to_read(b, i), to_overwrite(c, i));
      const auto x = pages.template get<0>(), y = pages.template get<1>();
      const auto z = pages.template get<2>();
      for (std::uint64_t k = i + warp.thread_rank(); z.holds(k); k += warp.size()) {
        z[k] = x[k] + y[k];
      }
      if (!pages && warp.leads())
        gnstor::device_word<std::uint64_t>(*failures).fetch_add(1, gnstor::relaxed);
    }
  }
};

}  // namespace dense

#pragma once
/// Kernels that use an array end to end, on the host runtime and on the GPU.

#include <gnstor/core/hash.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <cstdint>

namespace gnstor::test {

/// The value of element `i` after `round` rounds of `add_to_all`.
GNSTOR_HD inline std::uint64_t walked(std::uint64_t i, std::uint64_t round) {
  return mix64(i) + round * (i + 1);
}

/// Adds i + 1 to each element i through `view[i]`, scattered over the pages, after checking it.
struct add_to_all {
  struct shared {};
  std::uint64_t round = 0;

  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint64_t* wrong) const {
    const std::uint64_t n = view.size();
    // An odd factor visits each 32 elements of a power of two once, in an order that leaps.
    for (std::uint64_t k = lane.global_thread(); k < n; k += lane.grid_threads()) {
      const std::uint64_t i = ((k / 32 * 2654435761u) & (n / 32 - 1)) * 32 + k % 32;
      if (view[i] != walked(i, round)) device_word<std::uint64_t>(*wrong).fetch_add(1, relaxed);
      view[i] += i + 1;
    }
  }
};

/// Counts elements that are wrong or cannot be read, each warp pinning page after page.
struct check_pages {
  struct shared {};
  std::uint64_t round = 0;

  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint64_t* wrong) const {
    const auto g = lane.warp();
    const std::uint64_t per_page = view.elements_per_page();
    for (std::uint64_t p = simt::warp_number(); p * per_page < view.size();
         p += simt::warp_count()) {
      const auto page = view.page(g, p * per_page);
      if (!page) device_word<std::uint64_t>(*wrong).fetch_add(1, relaxed);
      for (std::uint64_t i = p * per_page + g.thread_rank(); page.holds(i); i += g.size()) {
        if (page[i] != walked(i, round)) device_word<std::uint64_t>(*wrong).fetch_add(1, relaxed);
      }
    }
  }
};

/// Writes one element of each page.
struct touch_pages {
  struct shared {};
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view) const {
    const std::uint64_t step = view.elements_per_page();
    for (std::uint64_t i = lane.global_thread() * step; i < view.size();
         i += lane.grid_threads() * step) {
      view[i] = i + 1;
    }
  }
};

/// view[first + k] = value + k by lane k.
struct store_some {
  struct shared {};
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint64_t first, std::uint64_t value) const {
    view[first + lane.global_thread()] = value + lane.global_thread();
  }
};

/// Loads element 0 by every lane and keeps the status.
struct load_first {
  struct shared {};
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint64_t* outcome) const {
    outcome[lane.global_thread()] = view.load(0).status.pack();
  }
};

}  // namespace gnstor::test

#pragma once
/// What kernels do to arrays on mapped memory, on the host runtime and on the GPU.

#include <gnstor/array/mapped_array.hpp>

#include <cstdint>

namespace gnstor::test {

/// Every element gets its index added, one per lane in turn.
struct add_index {
  struct shared {};
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view) const {
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads())
      view[i] += static_cast<std::uint32_t>(i);
  }
};

/// Adds up all elements.
struct sum_up {
  struct shared {};
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint64_t* sum) const {
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads())
      device_word<std::uint64_t>(*sum).fetch_add(view[i], relaxed);
  }
};

}  // namespace gnstor::test

#pragma once

#include <gnstor/array/array_view.hpp>
#include <gnstor/array/served_store.hpp>

namespace gnstor::inline v0 {

/// The view of an array whose pages other warps fetch: what `host::array<T>::served_view()` gives
/// to kernels, whatever the array lies on.
template <class T>
using served_array = array_view<T, served_store>;

}  // namespace gnstor::inline v0

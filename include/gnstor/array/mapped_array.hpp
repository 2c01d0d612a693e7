#pragma once

#include <gnstor/array/array_view.hpp>
#include <gnstor/array/mapped_store.hpp>

namespace gnstor::inline v0 {

/// The view of an array whose pages kernels copy from memory that they reach: what
/// `host::mapped_array<T>::view()` gives to kernels.
template <class T>
using mapped_array = array_view<T, mapped_store>;

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/array/array_view.hpp>
#include <gnstor/array/volume_store.hpp>
#include <gnstor/volume/remote_volume.hpp>

namespace gnstor::inline v0 {

/// The view of an array that lies on a remote volume: what `host::array<T>::view()` gives to
/// kernels.
template <class T>
using remote_array = array_view<T, volume_store<remote_volume>>;

static_assert(group_page_store<volume_store<remote_volume>>);

}  // namespace gnstor::inline v0

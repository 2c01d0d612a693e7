#pragma once

#include <gnstor/array/array_view.hpp>
#include <gnstor/channel/remote_channel.hpp>
#include <gnstor/files/file_store.hpp>
#include <gnstor/files/namespace_reader.hpp>

namespace gnstor::inline v0 {

/// A file as an array, for kernels: what `host::file_array<T>::view()` gives them. `view[i]` reads
/// it by its extents from the NVMe namespace that its file system lies on.
///
/// A page of a file that was changed meanwhile is not handed over: its elements read as those of a
/// page that cannot be fetched, with the status `stale`.
template <class T>
using file_view = array_view<const T, file_store<namespace_reader<remote_channel>>>;

}  // namespace gnstor::inline v0

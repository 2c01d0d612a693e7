#pragma once

#include <gnstor/array/array_view.hpp>
#include <gnstor/array/rdma_memory_store.hpp>

namespace gnstor::inline v0 {

/// The view of an array whose pages are fetched from a peer's memory by RDMA: what
/// `host::memory_array<T>::view()` gives to kernels.
template <class T>
using memory_array = array_view<T, rdma_memory_store<remote_memory_channel>>;

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/array/fault_ring.hpp>
#include <gnstor/array/mapped_array.hpp>
#include <gnstor/array/memory_array.hpp>
#include <gnstor/array/remote_array.hpp>

#include <cstdint>
#include <optional>

namespace gnstor::simt::host {
class executor;
}
namespace gnstor::simt::cuda {
class executor;
}

namespace gnstor::host {

/// The pager of an array: warps that fetch what kernels miss, and cleaners that write dirty pages
/// back before their frames are needed (`array::attach`).
struct pager_options {
  std::uint32_t warps = 0;  ///< 0: one on the host; on a GPU enough to fill the link
  /// Warps beside them. Unless given, a quarter as many on a GPU from 16 on, else none: pages are
  /// written back when their frames are needed then.
  std::optional<std::uint32_t> cleaners{};
};

}  // namespace gnstor::host

namespace gnstor::detail {

/// What a pager is started with.
struct pager_setup {
  fault_ring faults;
  std::uint64_t timeout_ns;  ///< of one page
  std::uint32_t* stop;       ///< in memory that its warps reach, as is `arrived`
  std::uint32_t* arrived;
  std::uint32_t fetchers;  ///< warps
  std::uint32_t cleaners;
};

// What a pager fetches.
using pages_of_volume = page_cache<volume_store<remote_volume>>;
using pages_of_host_memory = copied_pages<mapped_store>;
using pages_of_remote_memory = page_cache<rdma_memory_store<remote_memory_channel>>;

/// Adds a pager to the next run of `run`. Its kernel is compiled once, into the library.
void start_pager(simt::host::executor& run, const pages_of_volume& pages, const pager_setup& setup);
void start_pager(simt::host::executor& run, const pages_of_host_memory& pages,
                 const pager_setup& setup);
void start_pager(simt::host::executor& run, const pages_of_remote_memory& pages,
                 const pager_setup& setup);
void start_pager(simt::cuda::executor& run, const pages_of_volume& pages, const pager_setup& setup);
void start_pager(simt::cuda::executor& run, const pages_of_host_memory& pages,
                 const pager_setup& setup);
void start_pager(simt::cuda::executor& run, const pages_of_remote_memory& pages,
                 const pager_setup& setup);

}  // namespace gnstor::detail

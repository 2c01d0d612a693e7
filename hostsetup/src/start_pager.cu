#include "launch_blocking.hpp"
#include "start_pager.hpp"
#include <gnstor/simt/cuda_executor.cuh>

namespace gnstor::detail {

template <class Pages>
void start_pager(simt::cuda::executor& run, const Pages& pages, const pager_setup& setup) {
  refuse_single_kernels();
  start_pager_of(run, pages, setup);
}

template void start_pager(simt::cuda::executor&, const page_cache<volume_store<remote_volume>>&,
                          const pager_setup&);
template void start_pager(simt::cuda::executor&, const page_cache<store_of_a_peer>&,
                          const pager_setup&);
template void start_pager(simt::cuda::executor&, const copied_pages<mapped_store>&,
                          const pager_setup&);
template void start_pager(simt::cuda::executor&,
                          const page_cache<hashed_store<volume_store<remote_volume>>>&,
                          const pager_setup&);
template void start_pager(simt::cuda::executor&, const page_cache<hashed_store<store_of_a_peer>>&,
                          const pager_setup&);
template void start_pager(simt::cuda::executor&, const copied_pages<hashed_store<mapped_store>>&,
                          const pager_setup&);

}  // namespace gnstor::detail

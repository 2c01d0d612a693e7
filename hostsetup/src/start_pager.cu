#include "start_pager.hpp"
#include <gnstor/simt/cuda_executor.cuh>

namespace gnstor::detail {

void start_pager(simt::cuda::executor& run, const page_cache<volume_store<remote_volume>>& pages,
                 const pager_setup& setup) {
  start_pager_of(run, pages, setup);
}
void start_pager(simt::cuda::executor& run, const copied_pages<mapped_store>& pages,
                 const pager_setup& setup) {
  start_pager_of(run, pages, setup);
}

}  // namespace gnstor::detail

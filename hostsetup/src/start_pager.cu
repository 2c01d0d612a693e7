#include "launch_blocking.hpp"
#include "start_pager.hpp"
#include <gnstor/simt/cuda_executor.cuh>

#include <cstdlib>

namespace gnstor::detail {

void start_pager(simt::cuda::executor& run, const pages_of_volume& pages,
                 const pager_setup& setup) {
  refuse_launch_blocking(std::getenv("CUDA_LAUNCH_BLOCKING"));
  start_pager_of(run, pages, setup);
}
void start_pager(simt::cuda::executor& run, const pages_of_host_memory& pages,
                 const pager_setup& setup) {
  refuse_launch_blocking(std::getenv("CUDA_LAUNCH_BLOCKING"));
  start_pager_of(run, pages, setup);
}
void start_pager(simt::cuda::executor& run, const pages_of_remote_memory& pages,
                 const pager_setup& setup) {
  refuse_launch_blocking(std::getenv("CUDA_LAUNCH_BLOCKING"));
  start_pager_of(run, pages, setup);
}

}  // namespace gnstor::detail

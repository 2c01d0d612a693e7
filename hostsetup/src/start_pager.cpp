#include "start_pager.hpp"

#include <gnstor/simt_host/executor.hpp>

namespace gnstor::detail {

void start_pager(simt::host::executor& run, const pages_of_volume& pages,
                 const pager_setup& setup) {
  start_pager_of(run, pages, setup);
}
void start_pager(simt::host::executor& run, const pages_of_host_memory& pages,
                 const pager_setup& setup) {
  start_pager_of(run, pages, setup);
}
void start_pager(simt::host::executor& run, const pages_of_remote_memory& pages,
                 const pager_setup& setup) {
  start_pager_of(run, pages, setup);
}

}  // namespace gnstor::detail

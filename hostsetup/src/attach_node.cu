#include "emulated_client.hpp"
#include <afa/copy_service.hpp>
#include <afa/service.hpp>
#include <gnstor/simt/cuda_executor.cuh>

namespace gnstor::host {

void emulated_client::attach(simt::cuda::executor& executor) {
  if (array_->resident()) return;
  fw::node n = array_->node();
  n.host_stop = nullptr;  // the executor stops it
  const auto serve = [&](std::uint32_t engines, std::uint32_t warps, const auto& kernel) {
    executor.serve((engines + warps - 1) / warps, 32 * warps, *n.stop, kernel);
  };
  const std::uint32_t workers = n.shape.copy_workers;
  serve(workers, fw::copy_service::most_threads / 32, fw::copy_service{n});
  serve(n.shape.roles() - workers, fw::service::most_warps, fw::service{n, workers});
}

}  // namespace gnstor::host

#include "emulated_client.hpp"
#include <afa/copy_service.hpp>
#include <afa/service.hpp>
#include <gnstor/simt/cuda_executor.cuh>

namespace gnstor::host {

void emulated_client::attach(simt::cuda::executor& executor) {
  if (array_->resident()) return;
  const fw::node n = array_->attached();  // the executor stops it
  // Blocks of workers are as small as those of engines: a tool that watches kernels takes registers
  // of each thread.
  constexpr std::uint32_t warps = fw::service::most_warps;
  const auto serve = [&](std::uint32_t engines, const auto& kernel) {
    executor.serve((engines + warps - 1) / warps, 32 * warps, *n.stop, kernel);
  };
  const std::uint32_t workers = n.shape.copy_workers;
  serve(workers, fw::copy_service{n});
  serve(n.shape.roles() - workers, fw::service{n, workers});
}

}  // namespace gnstor::host

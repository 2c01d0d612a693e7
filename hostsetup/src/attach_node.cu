#include "emulated_client.hpp"
#include <afa/service.hpp>
#include <gnstor/simt/cuda_executor.cuh>

namespace gnstor::host {

void emulated_client::attach(simt::cuda::executor& executor) {
  if (array_->resident()) return;
  constexpr std::uint32_t block_threads = 256;
  fw::node n = array_->node();
  n.host_stop = nullptr;  // the executor stops it
  const std::uint32_t warps = block_threads / 32;
  executor.serve((n.shape.roles() + warps - 1) / warps, block_threads, *n.stop, fw::service{n});
}

}  // namespace gnstor::host

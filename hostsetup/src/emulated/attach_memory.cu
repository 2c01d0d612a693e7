#include "emulated_memory.hpp"
#include <gnstor/simt/cuda_executor.cuh>

#include <remote_memory/memory_service.hpp>

namespace gnstor::host {

void emulated_memory::attach(simt::cuda::executor& executor) {
  constexpr std::uint32_t warps = fw::memory_service::most_warps;
  executor.serve((node_.shape.roles() + warps - 1) / warps, 32 * warps, *node_.stop,
                 fw::memory_service{node_});  // the executor stops it
}

}  // namespace gnstor::host

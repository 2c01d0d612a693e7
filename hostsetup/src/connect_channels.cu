#include "connect_channels.hpp"
#include "cuda_support.hpp"
#include <gnstor/simt/cuda_executor.cuh>

namespace gnstor::host {

void connect_on_gpu(const mlx5_channel* channels, std::uint32_t count,
                    const connect_options& options, std::uint64_t timeout_ns,
                    std::uint64_t* outcome, int device) {
  const device_scope here(device);
  simt::cuda::executor run;
  run.spawn(1, 32, connect_channels{}, channels, count, options, timeout_ns, outcome);
  run.run();
}

}  // namespace gnstor::host

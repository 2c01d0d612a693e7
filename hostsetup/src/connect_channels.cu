#include "connect_channels.hpp"
#include "cuda_support.hpp"
#include <gnstor/simt/cuda_executor.cuh>

namespace gnstor::host {

void connect_on_gpu(const channel_outcomes& to, const connect_options& options,
                    std::uint64_t timeout_ns, int device, array_link& link) {
  if (to.count == 0) return;
  const device_scope here(device);
  simt::cuda::executor run;
  run.spawn(1, 32, connect_channels{}, to, options, timeout_ns);
  link.attach(run);
  run.run();
}

}  // namespace gnstor::host

#include "restart_memory.hpp"
#include <base/cuda_support.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/cuda_executor.cuh>

#include <stdexcept>
#include <string>

namespace gnstor::host {

void restart_memory_on_gpu(const memory_restart_request& request, int device, memory_link& link) {
  const device_scope here(device);
  try {
    simt::cuda::executor run;
    run.spawn(1, 1, restart_memory{}, request);
    link.attach(run);
    run.run();
  } catch (const std::runtime_error& why) {  // the executor's: the call that failed
    throw error("resetting a channel on GPU " + std::to_string(device) + ": " + why.what());
  }
}

}  // namespace gnstor::host

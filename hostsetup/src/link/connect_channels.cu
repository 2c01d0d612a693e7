#include "connect_channels.hpp"
#include <base/cuda_support.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/cuda_executor.cuh>

#include <stdexcept>
#include <string>

namespace gnstor::host {

void connect_on_gpu(const channel_outcomes& to, const connect_options& options,
                    std::uint64_t timeout_ns, int device, array_link& link) {
  if (to.count == 0) return;
  const device_scope here(device);
  try {
    simt::cuda::executor run;
    run.spawn(1, 32, connect_channels{}, to, options, timeout_ns);
    link.attach(run);
    run.run();
  } catch (const error&) {
    throw;
  } catch (const std::runtime_error& why) {  // the executor's: the call that failed
    throw error("connecting channels on GPU " + std::to_string(device) + ": " + why.what());
  }
}

}  // namespace gnstor::host

// What a build without CUDA says where a kernel of the host side would be launched.
#include "connect_channels.hpp"
#include "restart_channel.hpp"
#include "restart_memory.hpp"
#include <base/cuda_support.hpp>

namespace gnstor::host {

#if !defined(GNSTOR_WITH_CUDA)
void connect_on_gpu(const channel_outcomes&, const connect_options&, std::uint64_t, int,
                    array_link&) {
  prepare_gpus(0, 0);  // says that this build has no GPU side
}

void restart_on_gpu(const restart_request&, int) { prepare_gpus(0, 0); }

void restart_memory_on_gpu(const memory_restart_request&, int, memory_link&) { prepare_gpus(0, 0); }
#endif

}  // namespace gnstor::host

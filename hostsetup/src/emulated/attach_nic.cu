#include "emulated_nic.hpp"
#include <gnstor/simt/cuda_executor.cuh>

#include <nic/nic_ring_service.hpp>

namespace gnstor::host {

void emulated_nic::attach(simt::cuda::executor& executor) {
  refuse_missing_rings();
  if (!has_blocks_) return;
  constexpr std::uint32_t threads = 128;  // as many as share a turn of a flow
  const auto serve = [&](const auto& service) {
    executor.serve(service.blocks(node_), threads, *node_.stop, service);  // which stops it
  };
  if (where_.model == model_kind::intel_82599) {
    serve(fw::nic_ring_service<fw::nic_82599>{node_});
  } else {
    serve(fw::nic_ring_service<fw::nic_82574>{node_});
  }
}

}  // namespace gnstor::host

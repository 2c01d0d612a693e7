#include "emulated_nvme.hpp"
#include <base/cuda_support.hpp>
#include <gnstor/simt/cuda_executor.cuh>

namespace gnstor::host {
namespace {

void serve_beside(simt::cuda::executor& executor, const fw::nvme_node& n) {
  constexpr std::uint32_t warps = fw::nvme_service::most_warps;
  executor.serve((n.shape.roles() + warps - 1) / warps, 32 * warps, *n.stop, fw::nvme_service{n});
}

}  // namespace

void emulated_nvme::attach(simt::cuda::executor& executor) {
  if (runner_ != runner_kind::gpu) return;
  fw::nvme_node n = stopped_by(attach_stop_);  // the executor stops it
  --n.shape.queues;                            // the last is this CPU's own
  if (n.shape.queues != 0) serve_beside(executor, n);
}

void emulated_nvme::drive_on_gpu(const std::function<void()>& work) {
  const std::lock_guard lock(drive_use_);
  const device_scope here(options_.device);
  simt::cuda::executor run;
  serve_beside(run, stopped_by(drive_stop_));
  run.begin_services();
  serving_ = 1;
  try {
    work();
  } catch (...) {
    serving_ = 0;
    run.end_services();
    run.wait();
    throw;
  }
  serving_ = 0;
  run.end_services();
  run.wait();
}

}  // namespace gnstor::host

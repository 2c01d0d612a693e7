#pragma once

namespace gnstor::detail {

/// Throws `host::input_error` where every launch waits for its kernel: that of a pager would never
/// return, as the pager ends after the kernels that it serves.
/// @param said the environment's CUDA_LAUNCH_BLOCKING; null: not set
void refuse_launch_blocking(const char* said);
/// Throws `host::input_error` under Nsight Compute, which runs one kernel at a time.
/// @param said the environment's NV_COMPUTE_PROFILER_PERFWORKS_DIR, which ncu sets; null: not set
void refuse_profiler(const char* said);
/// Both, by the environment of this process.
void refuse_single_kernels();

}  // namespace gnstor::detail

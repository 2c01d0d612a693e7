#pragma once

namespace gnstor::detail {

/// Throws `host::input_error` where every launch waits for its kernel: that of a pager would never
/// return, as the pager ends after the kernels that it serves.
/// @param said the environment's CUDA_LAUNCH_BLOCKING; null: not set
void refuse_launch_blocking(const char* said);

}  // namespace gnstor::detail

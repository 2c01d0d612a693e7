#pragma once

namespace gnstor::host {

/// What a build without CUDA answers to whoever wants a GPU.
inline constexpr char no_gpu_side[] =
    "this gnstor was built without the GPU side: install it by scripts/install PREFIX --gpu, or "
    "configure it with -DGNSTOR_BUILD_CUDA=ON";

}  // namespace gnstor::host

#pragma once

namespace gnstor::host {

/// Which machine runs kernels: this CPU by the host SIMT runtime, or a GPU.
enum class machine { cpu, gpu };

/// The machine this translation unit is compiled for.
#if defined(__CUDACC__)
static constexpr machine this_machine = machine::gpu;
#else
static constexpr machine this_machine = machine::cpu;
#endif

}  // namespace gnstor::host

#pragma once

#include <cstdint>

namespace gnstor::host {

/// Which machine runs kernels: this CPU by the host SIMT runtime, or a GPU.
enum class machine { cpu, gpu };

/// The machine this translation unit is compiled for.
#if defined(__CUDACC__)
static constexpr machine this_machine = machine::gpu;
#else
static constexpr machine this_machine = machine::cpu;
#endif

/// Channels for kernels of this machine, unless you say otherwise. A queue of the array or the NIC
/// serves each: four carry a third of what a GPU's link does.
static constexpr std::uint32_t usual_channels = this_machine == machine::gpu ? 16 : 4;

/// Channels for kernels that a session has at most.
inline constexpr std::uint32_t most_channels = 128;

}  // namespace gnstor::host

#pragma once

#include "emulated_gateway.hpp"

#include <span>

namespace gnstor::serve {

/// Sees to it that volume K of the array has `wanted[K - 1]` bytes, rounded up to whole blocks:
/// makes it where there is none, and flushes what it made. Volumes beyond these are left as they
/// are.
///
/// Throws `input_error` with both sizes and the remedy where a volume of another size is there;
/// nothing is made then. Throws what `emulated_gateway::create_volume` throws.
void provide_volumes(emulated_gateway& array, std::span<const std::uint64_t> wanted);

}  // namespace gnstor::serve

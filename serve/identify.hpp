#pragma once

#include "array_gateway.hpp"
#include "controller.hpp"

namespace gnstor::serve {

/// Answers Identify: the data structure that `e` asks for, in `data`
/// (`wire::nvme::identify_bytes`). NVMe Base 2.3, 5.1.13.
/// @param array behind the target
answer identify(const controller& c, const wire::nvme::submission_entry& e,
                const array_gateway& array, std::span<std::byte> data);

}  // namespace gnstor::serve

#pragma once

#include "volume_store.hpp"
#include <gnstor/wire/nvme/submission_entry.hpp>

namespace gnstor::serve {

/// Carries out the Dataset Management command `e`, whose ranges lie in `ranges`; returns its
/// status. All ranges are checked before the first is touched. NVM Command Set 1.2, 3.3.3.
std::uint16_t deallocate(volume_store& store, const wire::nvme::submission_entry& e,
                         std::span<const std::byte> ranges);

}  // namespace gnstor::serve

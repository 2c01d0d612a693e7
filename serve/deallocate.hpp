#pragma once

#include "volume_store.hpp"
#include <gnstor/wire/nvme/dataset_range.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gnstor::serve {

/// What the Dataset Management command `e`, whose ranges lie in `ranges`, deallocates: none where
/// it only gives hints. Not 0: the status with which it is refused, as one of its ranges, or all
/// together, are too large. NVM Command Set 1.2, 3.3.3.
std::uint16_t ranges_to_deallocate(const volume_shape& shape, const wire::nvme::submission_entry& e,
                                   std::span<const std::byte> ranges,
                                   std::vector<wire::nvme::dataset_range>& list);
/// Carries out the Dataset Management command `e`, whose ranges lie in `ranges`; returns its
/// status. All ranges are checked before the first is touched.
std::uint16_t deallocate(volume_store& store, const wire::nvme::submission_entry& e,
                         std::span<const std::byte> ranges);

}  // namespace gnstor::serve

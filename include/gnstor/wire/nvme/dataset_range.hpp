#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// One range of a Dataset Management command's data. NVM Command Set 1.2, 3.3.3, "Range
/// Definition".
struct dataset_range {
  std::uint32_t attributes;
  std::uint32_t blocks;  ///< not zero based
  std::uint64_t slba;
};

static_assert(sizeof(dataset_range) == 16 && std::is_trivial_v<dataset_range>);
static_assert(offsetof(dataset_range, attributes) == 0);
static_assert(offsetof(dataset_range, blocks) == 4);
static_assert(offsetof(dataset_range, slba) == 8);

}  // namespace gnstor::wire::nvme

#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// A data pointer of physical region pages: `prp1` is where the data begins, at any byte; `prp2` is
/// nothing, the second page of two, or a list of all pages but the first. NVMe Base 2.3, 4.1.1.
struct prp_pair {
  std::uint64_t prp1 = 0;
  std::uint64_t prp2 = 0;
};

static_assert(sizeof(prp_pair) == 16 && std::is_trivially_copyable_v<prp_pair>);

}  // namespace gnstor::wire::nvme

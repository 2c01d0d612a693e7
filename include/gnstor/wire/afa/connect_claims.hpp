#pragma once

#include <gnstor/wire/afa/manager_claim.hpp>
#include <gnstor/wire/afa/session_claim.hpp>
#include <gnstor/wire/fabrics/connect_data.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gnstor::wire::afa {

/// The last 256 bytes of an admin queue's Connect data, which NVMe reserves, as this project's own
/// hosts and targets use them. All zero: a host like others.
struct connect_claims {
  manager_claim manager;
  session_claim session;
  std::uint8_t reserved40[216];
};

static_assert(sizeof(connect_claims) == sizeof(fabrics::connect_data::reserved768) &&
              std::is_trivial_v<connect_claims>);
static_assert(offsetof(connect_claims, session) == 24);

}  // namespace gnstor::wire::afa

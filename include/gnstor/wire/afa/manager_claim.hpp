#pragma once

#include <gnstor/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gnstor::wire::afa {

/// What an array's manager says when it connects: that it is one. All zero: it is a host like
/// others.
struct manager_claim {
  std::uint32_t version;      ///< `payload_version`; 0: this claims nothing
  std::uint32_t patience_ms;  ///< after which an SSD that has not answered has failed
  std::uint8_t secret[16];    ///< that the target was started with

  GNSTOR_HD constexpr bool claims() const { return version != 0; }
};

static_assert(sizeof(manager_claim) == 24 && std::is_trivial_v<manager_claim>);
static_assert(offsetof(manager_claim, patience_ms) == 4);
static_assert(offsetof(manager_claim, secret) == 8);

}  // namespace gnstor::wire::afa

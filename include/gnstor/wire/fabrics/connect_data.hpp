#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::fabrics {

inline constexpr std::uint16_t dynamic_controller = 0xffff;  ///< `cntlid`: the target chooses
inline constexpr std::uint16_t max_controller_id = 0xffef;   ///< FFF0h and above are reserved
inline constexpr std::uint32_t max_nqn_bytes = 223;          ///< without the terminating zero

/// Who connects to what: the data of a Connect command. NVMe Base 2.3, 6.3, "Connect Command Data".
///
/// The target derives the association's client id from `hostnqn` and `hostid`.
struct connect_data {
  std::uint8_t hostid[16];
  std::uint16_t cntlid;
  std::uint8_t reserved18[238];
  char subnqn[256];   ///< UTF-8, zero terminated
  char hostnqn[256];  ///< UTF-8, zero terminated
  std::uint8_t reserved768[256];
};

static_assert(sizeof(connect_data) == 1024 && std::is_trivial_v<connect_data>);
static_assert(offsetof(connect_data, hostid) == 0);
static_assert(offsetof(connect_data, cntlid) == 16);
static_assert(offsetof(connect_data, reserved18) == 18);
static_assert(offsetof(connect_data, subnqn) == 256);
static_assert(offsetof(connect_data, hostnqn) == 512);
static_assert(offsetof(connect_data, reserved768) == 768);

}  // namespace gnstor::wire::fabrics

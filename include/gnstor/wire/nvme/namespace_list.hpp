#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// Namespace ids in ascending order, zero behind the last one: the answer to Identify with CNS 02h,
/// and the Changed Namespace List log page. NVMe Base 2.3, 3.3.
struct namespace_list {
  std::uint32_t nsid[1024];
};

/// Namespace id of a command to all of them. The Changed Namespace List holds this one id if more
/// than 1024 namespaces have changed.
inline constexpr std::uint32_t all_namespaces = 0xffffffff;
/// The largest id that a namespace may have: no list starts behind it.
inline constexpr std::uint32_t last_namespace = 0xfffffffe;

static_assert(sizeof(namespace_list) == 4096 && std::is_trivial_v<namespace_list>);

}  // namespace gnstor::wire::nvme

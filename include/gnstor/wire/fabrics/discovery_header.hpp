#pragma once

#include <gnstor/wire/fabrics/discovery_entry.hpp>

namespace gnstor::wire::fabrics {

/// The well-known name of every discovery service. NVMe Base 2.3, 4.5.1.
inline constexpr char discovery_nqn[] = "nqn.2014-08.org.nvmexpress.discovery";

/// The first 1024 bytes of the discovery log page; `numrec` entries follow. NVMe Base 2.3,
/// 5.1.12.3.1.
struct discovery_header {
  std::uint64_t genctr;  ///< changes with the contents
  std::uint64_t numrec;
  std::uint16_t recfmt;
  std::uint8_t reserved18[1006];
};

static_assert(sizeof(discovery_header) == 1024 && std::is_trivial_v<discovery_header>);
static_assert(offsetof(discovery_header, numrec) == 8 && offsetof(discovery_header, recfmt) == 16);

}  // namespace gnstor::wire::fabrics

#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::memory {

/// What both ends of a connection to a memory server begin their private data with: "gmem".
inline constexpr std::uint32_t magic = 0x6d656d67;
inline constexpr std::uint16_t version = 2;

/// Private data of the RDMA CM request for a region: gnstor's own, all a request has room for.
/// Little-endian.
struct region_request {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t reserved6;
  char name[32];             ///< of the region, up to 31 characters, the rest is zero
  unsigned char secret[16];  ///< that the server wants to hear; zero where the client has none
};

static_assert(sizeof(region_request) == 56 && std::is_trivial_v<region_request>);
static_assert(offsetof(region_request, magic) == 0);
static_assert(offsetof(region_request, version) == 4);
static_assert(offsetof(region_request, reserved6) == 6);
static_assert(offsetof(region_request, name) == 8);
static_assert(offsetof(region_request, secret) == 40);

}  // namespace gnstor::wire::memory

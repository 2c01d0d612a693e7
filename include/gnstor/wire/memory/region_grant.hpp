#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::memory {

/// Private data of the RDMA CM reply of a memory server: where the region lies, and the key that
/// opens it on this connection. Little-endian.
struct region_grant {
  std::uint32_t magic;    ///< of `region_request`
  std::uint16_t version;  ///< likewise
  std::uint16_t access;   ///< bit 0: it may be read; bit 1: written
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t rkey;
  std::uint32_t reserved28;
};

inline constexpr std::uint16_t access_read = 1;
inline constexpr std::uint16_t access_write = 2;

static_assert(sizeof(region_grant) == 32 && std::is_trivial_v<region_grant>);
static_assert(offsetof(region_grant, magic) == 0);
static_assert(offsetof(region_grant, version) == 4);
static_assert(offsetof(region_grant, access) == 6);
static_assert(offsetof(region_grant, address) == 8);
static_assert(offsetof(region_grant, bytes) == 16);
static_assert(offsetof(region_grant, rkey) == 24);
static_assert(offsetof(region_grant, reserved28) == 28);

}  // namespace gnstor::wire::memory

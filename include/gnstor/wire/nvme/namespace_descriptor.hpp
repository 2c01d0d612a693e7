#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// A name of a namespace that has 16 bytes: an entry of the answer to Identify with CNS 03h, which
/// ends with a type of 0. NVMe Base 2.3, 5.1.13.2, "Namespace Identification Descriptor".
struct namespace_descriptor {
  std::uint8_t nidt;  ///< `nidt_*`
  std::uint8_t nidl;  ///< bytes of `nid`: 16
  std::uint8_t reserved2[2];
  std::uint8_t nid[16];
};

inline constexpr std::uint8_t nidt_nguid = 2;  ///< as in `identify_namespace`
inline constexpr std::uint8_t nidt_uuid = 3;   ///< RFC 9562, most significant byte first

static_assert(sizeof(namespace_descriptor) == 20 && std::is_trivial_v<namespace_descriptor>);
static_assert(offsetof(namespace_descriptor, nidl) == 1);
static_assert(offsetof(namespace_descriptor, nid) == 4);

}  // namespace gnstor::wire::nvme

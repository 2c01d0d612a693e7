#pragma once
/// Capsules: what travels in one SEND message. NVMe Base 2.3, 2.2.

#include <gnstor/wire/fabrics/command_type.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <cuda/std/bit>

namespace gnstor::wire::fabrics {

/// A command capsule is the bare submission queue entry: gnstor sends no in-capsule data.
using command_capsule = nvme::submission_entry;
/// A response capsule is the bare completion queue entry.
using response_capsule = nvme::completion_entry;

inline constexpr std::uint32_t command_capsule_bytes = 64;
inline constexpr std::uint32_t response_capsule_bytes = 16;
static_assert(sizeof(command_capsule) == command_capsule_bytes);
static_assert(sizeof(response_capsule) == response_capsule_bytes);

/// Which Fabrics command a capsule with opcode 7Fh is: byte 4, where others have a namespace.
GNSTOR_HD constexpr command_type type_of(const command_capsule& capsule) {
  return static_cast<command_type>(capsule.nsid & 0xff);
}

/// The same 64 bytes read as another form of command, for example a Connect as a capsule and back.
template <class To, class From>
GNSTOR_HD constexpr To capsule_cast(const From& from) {
  static_assert(sizeof(To) == command_capsule_bytes && sizeof(From) == command_capsule_bytes);
  return cuda::std::bit_cast<To>(from);
}

}  // namespace gnstor::wire::fabrics

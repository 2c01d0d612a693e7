#pragma once

#include <gnstor/wire/fabrics/command_type.hpp>
#include <gnstor/wire/fabrics/property_offset.hpp>
#include <gnstor/wire/nvme/opcode.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <type_traits>

namespace gnstor::wire::fabrics {

inline constexpr std::uint8_t property_size_mask = 0x7;  ///< `property_command::attributes`
inline constexpr std::uint8_t property_of_4_bytes = 0;
inline constexpr std::uint8_t property_of_8_bytes = 1;

/// Property Get and Property Set: a controller's registers, without PCIe. NVMe Base 2.3, 6.5
/// and 6.6.
///
/// The two differ in `fctype` and in `value`, which is reserved in a Get. Neither moves data, yet
/// `sgl` holds an empty keyed block: Linux's host sends one, and its RDMA target refuses a
/// descriptor of zeroes.
struct alignas(16) property_command {
  std::uint8_t opcode;
  std::uint8_t flags;
  std::uint16_t command_id;
  std::uint8_t fctype;
  std::uint8_t reserved5[19];
  nvme::keyed_sgl sgl;
  std::uint8_t attributes;  ///< bits 2:0: `property_of_*`
  std::uint8_t reserved41[3];
  std::uint32_t offset;
  std::uint64_t value;
  std::uint8_t reserved56[8];
};

static_assert(sizeof(property_command) == 64 && std::is_trivial_v<property_command>);
static_assert(offsetof(property_command, opcode) == 0);
static_assert(offsetof(property_command, flags) == 1);
static_assert(offsetof(property_command, command_id) == 2);
static_assert(offsetof(property_command, fctype) == 4);
static_assert(offsetof(property_command, sgl) == 24);
static_assert(offsetof(property_command, attributes) == 40);
static_assert(offsetof(property_command, offset) == 44);
static_assert(offsetof(property_command, value) == 48);
static_assert(offsetof(property_command, reserved56) == 56);

}  // namespace gnstor::wire::fabrics

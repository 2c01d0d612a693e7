#pragma once
/// The 8-byte store to the NIC's UAR page that starts a send queue.

#include <gnstor/wire/endian.hpp>
#include <gnstor/wire/mlx5/doorbell_record.hpp>

namespace gnstor::wire::mlx5 {

/// The doorbell's eight bytes: the first half of a control segment, {BE32(index << 8), BE32(qpn <<
/// 8)}.
///
/// The NIC takes the producer index from the doorbell record; the index here is a hint that differs
/// between drivers (last entry or next one). PRM, "UAR page format".
GNSTOR_HD constexpr std::uint64_t doorbell_value(std::uint16_t index, std::uint32_t qpn) {
  return std::uint64_t{be32(qpn << 8)} << 32 | be32(std::uint32_t{index} << 8);
}

/// The queue pair a doorbell is for.
GNSTOR_HD constexpr std::uint32_t doorbell_qpn(std::uint64_t value) {
  return be32(static_cast<std::uint32_t>(value >> 32)) >> 8;
}

/// The index in a doorbell: at most the next empty one.
GNSTOR_HD constexpr std::uint16_t doorbell_index(std::uint64_t value) {
  return static_cast<std::uint16_t>(be32(static_cast<std::uint32_t>(value)) >> 8);
}

static_assert(doorbell_value(0x1234, 0xabcdef) == 0x00efcdab00341200);
static_assert(doorbell_qpn(doorbell_value(0x1234, 0xabcdef)) == 0xabcdef);
static_assert(doorbell_index(doorbell_value(0x1234, 0xabcdef)) == 0x1234);

}  // namespace gnstor::wire::mlx5

#pragma once

#include <gnstor/wire/endian.hpp>

#include <type_traits>

namespace gnstor::wire::mlx5 {

/// The two words in memory that tell the NIC how far a queue pair's rings are filled.
///
/// Each holds `record_value` of the next *empty* index. Receives need nothing else; a send also
/// needs the doorbell. PRM, "Doorbell record"; rdma-core's `MLX5_RCV_DBR` (word 0) and
/// `MLX5_SND_DBR` (word 1).
struct alignas(8) doorbell_record {
  std::uint32_t receive;
  std::uint32_t send;
};

static_assert(sizeof(doorbell_record) == 8 && std::is_trivial_v<doorbell_record>);
static_assert(offsetof(doorbell_record, receive) == 0 && offsetof(doorbell_record, send) == 4);

/// A doorbell record's word for a producer index, of which it carries the low 16 bits.
GNSTOR_HD constexpr std::uint32_t record_value(std::uint64_t index) {
  return be32(static_cast<std::uint32_t>(index & 0xffff));
}

/// The 16-bit index a doorbell record's word carries.
GNSTOR_HD constexpr std::uint16_t record_index(std::uint32_t word) {
  return static_cast<std::uint16_t>(be32(word));
}

static_assert(record_value(0x12345) == 0x45230000 && record_index(0x45230000) == 0x2345);

}  // namespace gnstor::wire::mlx5

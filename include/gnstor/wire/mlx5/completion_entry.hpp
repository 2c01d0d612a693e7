#pragma once

#include <gnstor/wire/endian.hpp>
#include <gnstor/wire/mlx5/cqe_opcode.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>

#include <type_traits>

namespace gnstor::wire::mlx5 {

/// The 64-byte completion queue entry, CQE64, as sixteen aligned 32-bit words.
///
/// Words, because both ends touch it with 32-bit atomics: the NIC writes `tail` last and with
/// release order, the poller reads it first and with acquire order. Words named `_be` hold
/// big-endian bytes; the packed ones are made and read by the functions below. PRM, "CQE format";
/// rdma-core's `mlx5_cqe64` and, for the error form, `mlx5_err_cqe`.
struct alignas(64) completion_entry {
  std::uint32_t scatter[8];      ///< bytes 0..31: small payloads, where scatter-to-CQE is on
  std::uint32_t user_index_be;   ///< byte 32: the queue pair's user index, 24 bits
  std::uint32_t immediate_be;    ///< byte 36: immediate data or invalidated rkey
  std::uint32_t application;     ///< byte 40: zero
  std::uint32_t byte_count_be;   ///< byte 44: bytes received or read
  std::uint32_t timestamp_high;  ///< byte 48
  std::uint32_t error_word;      ///< byte 52: `pack_error`; on success, time stamp
  std::uint32_t sop_drop_qpn;    ///< byte 56: `pack_sop_qpn`
  std::uint32_t tail;            ///< byte 60: `pack_tail`
};

static_assert(sizeof(completion_entry) == 64 && alignof(completion_entry) == 64);
static_assert(std::is_trivial_v<completion_entry>);
static_assert(offsetof(completion_entry, user_index_be) == 32);
static_assert(offsetof(completion_entry, immediate_be) == 36);
static_assert(offsetof(completion_entry, application) == 40);
static_assert(offsetof(completion_entry, byte_count_be) == 44);
static_assert(offsetof(completion_entry, timestamp_high) == 48);
static_assert(offsetof(completion_entry, error_word) == 52);
static_assert(offsetof(completion_entry, sop_drop_qpn) == 56);
static_assert(offsetof(completion_entry, tail) == 60);

/// Bytes that an entry holds of a small message, where its queue pair scatters to completions.
inline constexpr std::uint32_t scatter_bytes = 32;

/// Bytes 60..63 as one word: wqe_counter (BE16), signature 0, op_own = opcode 7:4, format 3:2
/// (1 if the message is in `scatter`, else 0), owner 0.
GNSTOR_HD constexpr std::uint32_t pack_tail(std::uint16_t wqe_counter, cqe_opcode kind, bool owner,
                                            bool scattered = false) {
  return std::uint32_t{be16(wqe_counter)} | static_cast<std::uint32_t>(kind) << 28 |
         std::uint32_t{scattered} << 26 | std::uint32_t{owner} << 24;
}
GNSTOR_HD constexpr std::uint16_t tail_counter(std::uint32_t tail) {
  return be16(static_cast<std::uint16_t>(tail));
}
GNSTOR_HD constexpr cqe_opcode tail_opcode(std::uint32_t tail) {
  return static_cast<cqe_opcode>(tail >> 28);
}
/// True if the message lies in the entry's first 32 bytes, not where its receive points to.
GNSTOR_HD constexpr bool tail_scattered(std::uint32_t tail) { return (tail >> 26 & 3) == 1; }
GNSTOR_HD constexpr bool tail_owner(std::uint32_t tail) { return (tail >> 24 & 1) != 0; }

/// What every entry's tail holds before the first lap: op_own = F1h.
///
/// Zeroed memory would look like a valid success CQE of the first lap.
inline constexpr std::uint32_t unwritten_tail = pack_tail(0, cqe_opcode::invalid, true);

/// The owner bit that the NIC writes in the lap of `consumer_index`; `entries` is a power of two.
GNSTOR_HD constexpr bool lap_owner(std::uint64_t consumer_index, std::uint32_t entries) {
  return (consumer_index & entries) != 0;
}

/// True if `tail`, read from slot `consumer_index` % `entries`, belongs to that lap of the ring.
GNSTOR_HD constexpr bool tail_valid(std::uint32_t tail, std::uint64_t consumer_index,
                                    std::uint32_t entries) {
  // No branch: pollers ask again and again.
  return (tail_opcode(tail) != cqe_opcode::invalid) &
         (tail_owner(tail) == lap_owner(consumer_index, entries));
}

/// Bytes 52..55 of an error CQE as one word: 54 vendor syndrome, 55 syndrome.
GNSTOR_HD constexpr std::uint32_t pack_error(std::uint8_t vendor_syndrome, syndrome why) {
  return std::uint32_t{vendor_syndrome} << 16 | static_cast<std::uint32_t>(why) << 24;
}
GNSTOR_HD constexpr std::uint8_t error_vendor_syndrome(std::uint32_t error_word) {
  return static_cast<std::uint8_t>(error_word >> 16);
}
GNSTOR_HD constexpr syndrome error_syndrome(std::uint32_t error_word) {
  return static_cast<syndrome>(error_word >> 24);
}

/// Bytes 56..59 as one word, big endian: the send opcode (0 on a responder) 31:24, qpn 23:0.
GNSTOR_HD constexpr std::uint32_t pack_sop_qpn(std::uint8_t send_opcode, std::uint32_t qpn) {
  return be32(std::uint32_t{send_opcode} << 24 | (qpn & 0xffffff));
}
GNSTOR_HD constexpr std::uint8_t sop_opcode(std::uint32_t sop_drop_qpn) {
  return static_cast<std::uint8_t>(sop_drop_qpn);
}
GNSTOR_HD constexpr std::uint32_t sop_qpn(std::uint32_t sop_drop_qpn) {
  return be32(sop_drop_qpn) & 0xffffff;
}

static_assert(pack_tail(0x1234, cqe_opcode::responder_error, true) == 0xe1003412);
static_assert(pack_tail(0x1234, cqe_opcode::responder_send, false, true) == 0x24003412);
static_assert(unwritten_tail == 0xf1000000 && !tail_valid(unwritten_tail, 0, 8));
static_assert(tail_valid(pack_tail(0, cqe_opcode::requester, false), 7, 8));
static_assert(tail_valid(pack_tail(0, cqe_opcode::requester, true), 8, 8));
static_assert(!tail_valid(pack_tail(0, cqe_opcode::requester, false), 8, 8));

}  // namespace gnstor::wire::mlx5

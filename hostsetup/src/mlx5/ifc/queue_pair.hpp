#pragma once
/// CREATE_QP, the commands that move a queue pair from state to state, and the queue pair context
/// inside them.

#include "address_path.hpp"

namespace gnstor::host::mlx5::ifc {

/// The queue pair context.
namespace qp_context {
inline constexpr field service_type{0x008, 8};  ///< 0: reliable connection
inline constexpr field migration_state{0x013, 2};
inline constexpr field protection_domain{0x028, 24};
inline constexpr field mtu{0x040, 3};  ///< as `ibv_mtu`: 1 is 256 bytes, 5 is 4096
inline constexpr field log_message_bytes{0x043, 5};
inline constexpr field log_receive_entries{0x049, 4};
inline constexpr field log_receive_stride{0x04d, 3};  ///< 0: 16 bytes
inline constexpr field log_send_entries{0x051, 4};
inline constexpr field timestamp_format{0x058, 2};
inline constexpr field uar_page{0x068, 24};
inline constexpr field user_index{0x088, 24};
inline constexpr field remote_number{0x0a8, 24};
inline constexpr std::uint32_t primary_path = 0x0c0;  ///< where the `address_path` begins
inline constexpr field log_ack_frequency{0x380, 4};
inline constexpr field log_reads_sent{0x388, 3};
inline constexpr field retry_count{0x38d, 3};
inline constexpr field rnr_retry{0x390, 3};
inline constexpr field next_send_psn{0x3c8, 24};
inline constexpr field send_cq{0x3e8, 24};
inline constexpr field log_reads_served{0x488, 3};
inline constexpr field remote_read_enable{0x490, 1};
inline constexpr field remote_write_enable{0x491, 1};
inline constexpr field least_rnr_timer{0x4a3, 5};
inline constexpr field next_receive_psn{0x4a8, 24};
inline constexpr field receive_cq{0x4e8, 24};
inline constexpr field doorbell_address{0x500, 64};   ///< an offset, where a umem is named
inline constexpr field receive_queue_type{0x565, 3};  ///< 0: a ring of the queue pair's own
inline constexpr field scatter_requester{0x630, 8};   ///< data of READs inside the CQE: 0, never
inline constexpr field scatter_responder{0x638, 8};   ///< data of receives inside the CQE: 0, never
inline constexpr field doorbell_umem_valid{0x683, 1};
inline constexpr field doorbell_umem{0x720, 32};
inline constexpr std::uint32_t bits = 0x740;
inline constexpr std::uint64_t migrated = 3;          ///< of `migration_state`
inline constexpr std::uint64_t scatter_32_bytes = 1;  ///< of `scatter_responder`: into a CQE of 64
}  // namespace qp_context

namespace create_qp {
inline constexpr std::uint32_t bits = 0x880;
inline constexpr std::uint32_t context = 0xc0;  ///< where the context begins
inline constexpr field ring_offset{0x800, 64};
inline constexpr field ring_umem{0x840, 32};
inline constexpr field ring_umem_valid{0x860, 1};
inline constexpr field number{0x48, 24};  ///< in the answer
}  // namespace create_qp

/// RST2INIT_QP, INIT2RTR_QP and RTR2RTS_QP; 2ERR_QP is the head alone.
namespace modify_qp {
inline constexpr std::uint32_t bits = 0x880;
inline constexpr std::uint32_t to_error_bits = 0x80;
inline constexpr std::uint32_t context = 0xc0;  ///< where the context begins
inline constexpr field number{0x48, 24};
inline constexpr field optional_mask{0x80, 32};
}  // namespace modify_qp

static_assert(create_qp::context + qp_context::bits == create_qp::ring_offset.offset);

}  // namespace gnstor::host::mlx5::ifc

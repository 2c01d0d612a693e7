#pragma once
/// QUERY_HCA_CAP and those capabilities that gnstor looks at.

#include "field.hpp"

namespace gnstor::host::mlx5::ifc {

namespace query_hca_cap {
inline constexpr std::uint32_t bits = 0x80;
inline constexpr std::uint32_t answer_bits = 0x80 + 0x8000;
inline constexpr std::uint32_t capability = 0x80;  ///< where it begins in the answer
/// Modifiers: which capability, and bit 0, its present value instead of the largest one.
inline constexpr std::uint64_t general_now = 0x0 << 1 | 1;
inline constexpr std::uint64_t roce_now = 0x4 << 1 | 1;
}  // namespace query_hca_cap

/// The general device capabilities.
namespace general_capability {
inline constexpr field log_max_qp_entries{0x088, 8};
inline constexpr field log_max_cq_entries{0x0c8, 8};
inline constexpr field log_max_reads_sent{0x14a, 6};
inline constexpr field log_max_reads_served{0x15a, 6};
inline constexpr field log_max_message_bytes{0x1c3, 5};
inline constexpr field cqe_version{0x1fc, 4};
inline constexpr field roce{0x21d, 1};
inline constexpr field cq_ignore_overrun{0x220, 1};
inline constexpr field reliable_connection{0x23f, 1};
inline constexpr field log_blue_flame_bytes{0x26b, 5};
}  // namespace general_capability

/// The RoCE capabilities.
namespace roce_capability {
inline constexpr field qp_timestamp_format{0x01e, 2};
}  // namespace roce_capability

}  // namespace gnstor::host::mlx5::ifc

#pragma once
/// CREATE_CQ and the completion queue context inside it.

#include "field.hpp"

namespace gnstor::host::mlx5::ifc {

/// The completion queue context.
namespace cq_context {
inline constexpr field doorbell_umem_valid{0x006, 1};
inline constexpr field entry_size{0x008, 3};  ///< 0: 64 bytes
inline constexpr field collapsed{0x00b, 1};
inline constexpr field ignore_overrun{0x00e, 1};
inline constexpr field doorbell_umem{0x020, 32};
inline constexpr field log_entries{0x063, 5};
inline constexpr field uar_page{0x068, 24};
inline constexpr field event_queue{0x0b8, 8};
inline constexpr field doorbell_address{0x1c0, 64};  ///< an offset, where a umem is named
}  // namespace cq_context

namespace create_cq {
inline constexpr std::uint32_t bits = 0x880;
inline constexpr std::uint32_t context = 0x80;  ///< where the context begins
inline constexpr field ring_offset{0x280, 64};
inline constexpr field ring_umem{0x2c0, 32};
inline constexpr field ring_umem_valid{0x2e0, 1};
inline constexpr field number{0x48, 24};  ///< in the answer
}  // namespace create_cq

}  // namespace gnstor::host::mlx5::ifc

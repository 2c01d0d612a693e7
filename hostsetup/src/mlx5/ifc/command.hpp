#pragma once
/// What all device commands have in common: their opcodes, and the head of question and answer.
///
/// Numbers and positions of this folder are facts of the PRM, compared with rdma-core's
/// `mlx5_ifc.h`. @note not verified on hardware

#include "field.hpp"

namespace gnstor::host::mlx5::ifc {

/// Device commands that gnstor issues.
enum class opcode : std::uint16_t {
  query_hca_cap = 0x100,
  create_cq = 0x400,
  create_qp = 0x500,
  rst2init_qp = 0x502,
  init2rtr_qp = 0x503,
  rtr2rts_qp = 0x504,
  to_error_qp = 0x507,
};

/// Head of every command.
namespace command {
inline constexpr field opcode{0x00, 16};
inline constexpr field modifier{0x30, 16};
}  // namespace command

/// Head of every answer; the shortest answer is nothing else.
namespace answer {
inline constexpr std::uint32_t bits = 0x80;
inline constexpr field status{0x00, 8};
inline constexpr field syndrome{0x20, 32};
}  // namespace answer

}  // namespace gnstor::host::mlx5::ifc

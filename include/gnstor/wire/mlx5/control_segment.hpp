#pragma once

#include <gnstor/wire/endian.hpp>
#include <gnstor/wire/mlx5/opcode.hpp>

#include <type_traits>

namespace gnstor::wire::mlx5 {

inline constexpr std::uint32_t wqebb_bytes = 64;           ///< one basic block of the send queue
inline constexpr std::uint32_t octoword_bytes = 16;        ///< the unit of `ds`
inline constexpr std::uint8_t completion_on_error = 0x00;  ///< ce = 0: a CQE only if the WQE fails
inline constexpr std::uint8_t completion_always = 0x08;    ///< ce = 2
inline constexpr std::uint8_t solicited_event = 0x02;      ///< se = 1
inline constexpr std::uint8_t small_fence = 0x20;  ///< fm = 1: wait for earlier READs and atomics

/// The first 16 bytes of every send work queue entry.
///
/// Says which queue pair, which block and which operation, so that the NIC can detect a stale
/// doorbell. Words named `_be` hold big-endian bytes; the member functions answer in host order.
/// PRM, "WQE control segment"; rdma-core's `mlx5_wqe_ctrl_seg`.
struct alignas(16) control_segment {
  std::uint32_t opmod_index_opcode_be;  ///< opmod 31:24, WQE index 23:8, opcode 7:0
  std::uint32_t qpn_ds_be;              ///< queue pair number 31:8, size in octowords 5:0
  std::uint8_t signature;
  std::uint8_t dci_stream[2];  ///< zero on an RC queue pair
  std::uint8_t fm_ce_se;       ///< fence mode 7:5, completion mode 3:2, solicited event 1
  std::uint32_t imm;           ///< as it goes on the wire: the caller has put it in order

  GNSTOR_HD constexpr std::uint16_t index() const {
    return static_cast<std::uint16_t>(be32(opmod_index_opcode_be) >> 8);
  }
  GNSTOR_HD constexpr mlx5::opcode opcode() const {
    return static_cast<mlx5::opcode>(be32(opmod_index_opcode_be) & 0xff);
  }
  GNSTOR_HD constexpr std::uint8_t opmod() const {
    return static_cast<std::uint8_t>(be32(opmod_index_opcode_be) >> 24);
  }
  GNSTOR_HD constexpr std::uint32_t qpn() const { return be32(qpn_ds_be) >> 8; }
  GNSTOR_HD constexpr std::uint8_t ds() const {
    return static_cast<std::uint8_t>(be32(qpn_ds_be) & 0x3f);
  }
  /// Basic blocks the whole entry occupies.
  GNSTOR_HD constexpr std::uint32_t wqebb_count() const { return (ds() + 3u) / 4u; }
  /// True if the NIC writes a CQE for this entry even when it succeeds.
  GNSTOR_HD constexpr bool signaled() const { return (fm_ce_se & 0x0c) == completion_always; }
};

static_assert(sizeof(control_segment) == 16 && std::is_trivial_v<control_segment>);
static_assert(offsetof(control_segment, opmod_index_opcode_be) == 0);
static_assert(offsetof(control_segment, qpn_ds_be) == 4);
static_assert(offsetof(control_segment, signature) == 8);
static_assert(offsetof(control_segment, dci_stream) == 9);
static_assert(offsetof(control_segment, fm_ce_se) == 11);
static_assert(offsetof(control_segment, imm) == 12);

/// The control segment of the entry whose first basic block is `wqe_index` (counted modulo 65,536).
///
/// `qpn` has 24 bits; `ds` counts all 16-byte units of the entry, this segment included.
/// `imm` is stored as given (rdma-core does the same).
GNSTOR_HD constexpr control_segment make_control(mlx5::opcode operation, std::uint16_t wqe_index,
                                                 std::uint32_t qpn, std::uint8_t ds,
                                                 std::uint8_t fm_ce_se, std::uint32_t imm = 0) {
  control_segment segment{};
  segment.opmod_index_opcode_be =
      be32(std::uint32_t{wqe_index} << 8 | static_cast<std::uint32_t>(operation));
  segment.qpn_ds_be = be32(qpn << 8 | ds);
  segment.fm_ce_se = fm_ce_se;
  segment.imm = imm;
  return segment;
}

static_assert(make_control(opcode::send, 0x1234, 0xabcdef, 2, completion_always).index() == 0x1234);
static_assert(make_control(opcode::send, 0x1234, 0xabcdef, 2, completion_always).qpn() == 0xabcdef);

}  // namespace gnstor::wire::mlx5

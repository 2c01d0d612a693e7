#pragma once

#include <gnstor/wire/fabrics/command_type.hpp>
#include <gnstor/wire/nvme/opcode.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <type_traits>

namespace gnstor::wire::fabrics {

inline constexpr std::uint8_t cattr_urgent = 0x00;           ///< priority class 00b
inline constexpr std::uint8_t cattr_high = 0x01;             ///< priority class 01b
inline constexpr std::uint8_t cattr_medium = 0x02;           ///< priority class 10b
inline constexpr std::uint8_t cattr_low = 0x03;              ///< priority class 11b
inline constexpr std::uint8_t cattr_no_flow_control = 0x04;  ///< the host ignores SQ head pointers
inline constexpr std::uint16_t no_sq_head = 0xffff;          ///< the pointer that it ignores

/// The Connect command, which makes a queue pair into an NVMe queue. NVMe Base 2.3, 6.3.
struct alignas(16) connect_command {
  std::uint8_t opcode;
  std::uint8_t flags;
  std::uint16_t command_id;
  std::uint8_t fctype;
  std::uint8_t reserved5[19];
  nvme::keyed_sgl sgl;   ///< where the target fetches the 1024 bytes of `connect_data`
  std::uint16_t recfmt;  ///< record format
  std::uint16_t qid;     ///< 0 is the admin queue
  std::uint16_t sqsize;  ///< entries, zero based
  std::uint8_t cattr;    ///< priority class 1:0, no flow control 2
  std::uint8_t reserved47;
  std::uint32_t kato_ms;  ///< keep alive timeout; admin queue only
  std::uint8_t reserved52[12];
};

static_assert(sizeof(connect_command) == 64 && std::is_trivial_v<connect_command>);
static_assert(offsetof(connect_command, opcode) == 0);
static_assert(offsetof(connect_command, flags) == 1);
static_assert(offsetof(connect_command, command_id) == 2);
static_assert(offsetof(connect_command, fctype) == 4);
static_assert(offsetof(connect_command, sgl) == 24);
static_assert(offsetof(connect_command, recfmt) == 40);
static_assert(offsetof(connect_command, qid) == 42);
static_assert(offsetof(connect_command, sqsize) == 44);
static_assert(offsetof(connect_command, cattr) == 46);
static_assert(offsetof(connect_command, kato_ms) == 48);
static_assert(offsetof(connect_command, reserved52) == 52);

/// A Connect of queue `qid` with `entries` (2 to 65,536) slots; `data` describes the
/// `connect_data`.
GNSTOR_HD constexpr connect_command make_connect(std::uint16_t command_id, std::uint16_t qid,
                                                 std::uint32_t entries, nvme::keyed_sgl data,
                                                 std::uint32_t kato_ms = 0,
                                                 std::uint8_t cattr = 0) {
  connect_command command{};
  command.opcode = nvme::fabrics_opcode;
  command.flags = nvme::flags_sgl;
  command.command_id = command_id;
  command.fctype = static_cast<std::uint8_t>(command_type::connect);
  command.sgl = data;
  command.qid = qid;
  command.sqsize = static_cast<std::uint16_t>(entries - 1);
  command.cattr = cattr;
  command.kato_ms = kato_ms;
  return command;
}

}  // namespace gnstor::wire::fabrics

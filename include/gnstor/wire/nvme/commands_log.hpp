#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// Log page 05h: the commands that a controller knows, by opcode. NVMe Base 2.3, 5.1.12.1,
/// "Commands Supported and Effects".
struct commands_log {
  std::uint32_t admin[256];  ///< `command_*`
  std::uint32_t io[256];     ///< `command_*`
  std::uint8_t reserved2048[2048];
};

inline constexpr std::uint32_t command_supported = 1u << 0;
inline constexpr std::uint32_t command_changes_blocks = 1u << 1;  ///< contents of a namespace

static_assert(sizeof(commands_log) == 4096 && std::is_trivial_v<commands_log>);
static_assert(offsetof(commands_log, io) == 1024);

}  // namespace gnstor::wire::nvme

#pragma once
/// Orders as bytes: the admin command of one, and its payload.

#include <daemon/orders.hpp>
#include <gnstor/wire/afa/admin_command.hpp>

#include <cstddef>
#include <vector>

namespace gnstor::daemon {

/// An order as the admin command that carries it, under a manager's term; its payload lies apart.
inline wire::afa::admin_command command_of(const ssd_order& o, std::uint64_t term) {
  wire::afa::admin_command c;
  c.opcode = o.opcode;
  c.nsid = o.ssd + 1;
  c.epoch = o.epoch;
  c.volume = volume_id(o.vid);
  c.term = term;
  if (o.opcode == wire::afa::admin_opcode::volume_delete) c.hash_factor = o.record.hash_factor;
  if (o.opcode == wire::afa::admin_opcode::array_update) c.others = o.others;
  return c;
}

/// The data that an order carries; empty: none.
inline std::vector<std::byte> payload_of(const ssd_order& o) {
  using wire::afa::admin_opcode;
  const auto bytes = [](const auto& value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    return std::vector<std::byte>(first, first + sizeof value);
  };
  switch (o.opcode) {
    case admin_opcode::volume_add: return bytes(o.record);
    case admin_opcode::volume_chmod: return bytes(o.chmod);
    case admin_opcode::array_update: return bytes(o.membership);
    case admin_opcode::volume_delete:
    case admin_opcode::volume_list:
    case admin_opcode::array_describe:
    case admin_opcode::ssd_describe: break;
  }
  return {};
}

}  // namespace gnstor::daemon

#include "controller_rules.hpp"

#include <fmt/format.h>

namespace gnstor::host::probe {
namespace {

/// Of a packet flow of the default shape, one buffer per page.
constexpr std::uint64_t flow_bytes = std::uint64_t{16} << 20;

std::string lockable_flow(const machine_facts& facts, const controller_facts& c) {
  const auto limit = facts.process.locked_memory_bytes;
  if (!c.translated || facts.process.may_lock_any || limit >= flow_bytes) return "";
  return fmt::format(
      "only {} KiB of memory may be locked and a flow of packets takes up to {} MiB: ulimit -l "
      "unlimited",
      limit >> 10, flow_bytes >> 20);
}

}  // namespace

std::string tap_obstacle(const machine_facts& facts) {
  switch (facts.tun.access) {
    case node_access::missing:
      return "there is no /dev/net/tun: as root, modprobe tun, or give the container the device";
    case node_access::denied:
      return "no permission for /dev/net/tun: as root, chmod a+rw /dev/net/tun";
    default: return "";
  }
}

std::string ethernet_obstacle(const machine_facts& facts) {
  if (facts.ethernet.empty()) {
    return "no 82574 on this machine's bus: add one; emu-nic: and tap: try packets without one";
  }
  return obstacle_of_best<controller_facts>(
      facts, facts.ethernet, {alone_in_group, way_to_memory, bound, permitted, lockable_flow});
}

}  // namespace gnstor::host::probe

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// An NVMe controller on this machine's bus, or several:
/// `nvme://0000:01:00.0,0000:02:00.0?name=value&...`.
///
/// `session` opens it like an array: its namespaces are volumes, which kernels read and write by
/// I/O queues of their own. docs/endpoints.md shows the options.
struct pcie_endpoint {
  /// How its queues are reached.
  enum class path_kind : std::uint8_t {
    automatic,     ///< through Linux where a driver of it keeps the controller, else by kernels
    device,        ///< kernels ring its doorbells
    relay,         ///< kernels fill its queues, and a thread of this CPU rings the doorbells
    linux_driver,  ///< Linux carries out what kernels ask for, by io_uring
  };

  /// DOMAIN:BUS:DEVICE.FUNCTION, as the kernel writes it: 1 to 16, each another one. Volumes are
  /// striped over all of them, in this order.
  std::vector<std::string> addresses;
  std::uint32_t nsid = 0;        ///< the one namespace that is a volume; 0: each of them
  bool scratch = false;          ///< `create_volume` takes namespaces, whatever is on them
  std::uint32_t queues = 65535;  ///< I/O queues taken at most: one for this CPU, the rest channels
  std::uint32_t stripe_bytes = 128 << 10;  ///< of several controllers: a multiple of 4096
  static constexpr std::size_t max_controllers = 16;
  path_kind path = path_kind::automatic;

  static constexpr std::string_view scheme = "nvme://";
};

}  // namespace gnstor::host

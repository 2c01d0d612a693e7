#pragma once

#include <gnstor/wire/nvme/identify_controller.hpp>

#include <string>
#include <vector>

namespace gnstor::host::fabrics {

/// What a controller allows, and so what is used.
struct controller_limits {
  std::uint16_t controller_id = 0;
  std::string serial, model, firmware;
  std::uint32_t version = 0;             ///< VS: major 31:16, minor 15:8
  bool discovery = false;                ///< it has a log page instead of namespaces
  std::uint32_t queues = 0;              ///< I/O queues granted
  std::uint32_t depth = 0;               ///< requests on one I/O queue, a power of two
  std::uint32_t max_transfer_bytes = 0;  ///< of one command
  bool keep_alive = false;               ///< it counts the time between signs of life
  bool namespace_events = false;         ///< it tells of changed namespaces
  bool write_zeroes = false;
  bool dataset_management = false;
  bool volatile_cache = false;  ///< Flush matters

  /// Compares what is wanted with what the controller says. Throws `input_error` for a controller
  /// that gnstor cannot talk to.
  /// @param notes gets a sentence for each value that is not the wanted one
  static controller_limits from(const wire::nvme::identify_controller& said, std::uint64_t cap,
                                std::uint32_t depth, std::vector<std::string>& notes);
};

}  // namespace gnstor::host::fabrics

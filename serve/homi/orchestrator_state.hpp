#pragma once

#include <gnstor/wire/nvme/health_log.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::serve {

/// What an orchestrator knows at a moment, for metrics.
struct orchestrator_state {
  /// A process that has queues.
  struct client {
    std::string program;
    std::uint32_t process = 0;
    std::uint32_t queues = 0;
    std::uint64_t bytes = 0;  ///< of memory that it shares
  };

  std::string controller;
  std::vector<client> clients;
  std::uint32_t lent_queues = 0;
  std::uint32_t idle_queues = 0;
  std::uint32_t lost_queues = 0;  ///< that could not be deleted, and are lent no more
  std::uint64_t served = 0;       ///< processes that were given queues, so far
  std::uint64_t refused = 0;      ///< requests
  std::uint64_t events = 0;       ///< that the controller has reported
  std::optional<wire::nvme::health_log> health;  ///< nothing: it does not answer
};

}  // namespace gnstor::serve

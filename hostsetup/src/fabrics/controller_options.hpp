#pragma once

#include <gnstor/wire/afa/connect_claims.hpp>
#include <gnstor/wire/nvme/arbitration.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace gnstor::host::fabrics {

/// Which controller to connect to, and how.
struct controller_options {
  std::string subsystem;      ///< NQN
  std::string host_nqn;       ///< empty: of /etc/nvme/hostnqn, else made from the machine's name
  std::string host_id;        ///< a UUID; empty: likewise
  std::uint32_t queues = 1;   ///< I/O queues wanted; `limits().queues` says what there is
  std::uint32_t depth = 128;  ///< requests on one I/O queue, a power of two; likewise
  wire::afa::connect_claims claims{};  ///< of an array's manager, or a session; else nothing
  /// Of the I/O queues, where the controller arbitrates.
  wire::nvme::queue_class priority = wire::nvme::queue_class::urgent;
  /// The target ends the association after so long without a sign of life; 0: never. One is sent
  /// twice in that time.
  std::chrono::milliseconds keep_alive{10'000};
  /// Of joining a queue, and of each admin command.
  std::chrono::milliseconds timeout{5'000};
  /// How long a lost association is tried to be made again; 0: not at all.
  std::chrono::milliseconds loss_timeout{60'000};
  /// Between two tries at most; the first come faster.
  std::chrono::milliseconds reconnect_delay{2'000};
  /// Called with what a user should know: values granted instead of those wanted, losses,
  /// reconnects. Called by the controller's thread and by its constructor.
  std::function<void(const std::string&)> say;
  /// Called, by the controller's thread, when `namespaces()` has changed.
  std::function<void()> namespaces_changed;
};

}  // namespace gnstor::host::fabrics

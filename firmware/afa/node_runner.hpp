#pragma once

namespace gnstor::fw {

/// Whoever runs an array node's firmware, from construction until `stop` or destruction.
class node_runner {
 public:
  virtual ~node_runner() = default;
  /// Ends the firmware; returns when it has ended. Commands in flight stay unanswered. Throws what
  /// went wrong meanwhile.
  virtual void stop() = 0;
};

}  // namespace gnstor::fw

#pragma once

#include <serve/control/call_counts.hpp>
#include <serve/control/manager_holder.hpp>

#include <memory>
#include <string>

namespace gnstor::serve {

/// Answers Prometheus about an array, as long as it lives: GET /metrics at one address. What it
/// says is what the manager knows when it is asked; anybody who reaches the address may ask, and
/// changes nothing.
class metrics_server {
 public:
  /// Starts. Throws `error` with the remedy.
  /// @param listen HOST:PORT, an IPv6 address in brackets; port 0 for any
  /// @param manager who knows the array; it outlives this, @param calls likewise
  metrics_server(const std::string& listen, const manager_holder& manager,
                 const call_counts& calls);
  ~metrics_server();
  metrics_server(const metrics_server&) = delete;
  metrics_server& operator=(const metrics_server&) = delete;

  /// Where it listens: with the port that it was given.
  const std::string& address() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace gnstor::serve

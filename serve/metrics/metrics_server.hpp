#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <string>

namespace gnstor::serve {

/// Answers Prometheus, as long as it lives: GET /metrics at one address. What it says is what is
/// known when it is asked; anybody who reaches the address may ask, and changes nothing.
class metrics_server {
 public:
  /// Starts. Throws `error` with the remedy.
  /// @param listen HOST:PORT, an IPv6 address in brackets; port 0 for any
  /// @param metrics says it
  metrics_server(const std::string& listen, std::shared_ptr<prometheus::Collectable> metrics);
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

#pragma once

#include "array_label.hpp"
#include "call_counts.hpp"
#include "manager_holder.hpp"

#include <memory>
#include <string>

namespace gnstor::serve {

/// Files in PEM by which both sides of a connection prove who they are: mutual TLS.
struct tls_files {
  std::string certificate;  ///< of this side, and those that sign it
  std::string key;          ///< of this side
  std::string authority;    ///< whose certificates are believed

  bool given() const { return !certificate.empty() || !key.empty() || !authority.empty(); }
};

/// Answers `gnstor.v1.Control` at one address, as long as it lives.
class control_server {
 public:
  /// Starts. Throws `error` with the remedy.
  /// @param listen HOST:PORT, port 0 for any, or unix:PATH; without TLS HOST is of the loopback
  /// interface
  /// @param manager who answers; it outlives this
  control_server(const std::string& listen, const manager_holder& manager, array_label array,
                 const tls_files& tls = {});
  /// The same for one manager, which outlives this.
  control_server(const std::string& listen, host::array_manager& manager, array_label array,
                 const tls_files& tls = {});
  ~control_server();
  control_server(const control_server&) = delete;
  control_server& operator=(const control_server&) = delete;

  /// Where it listens: with the port that it was given.
  const std::string& address() const;
  /// The calls that have ended, as long as this lives.
  const call_counts& calls() const;
  /// Who answers.
  const manager_holder& manager() const;

 private:
  struct impl;
  control_server(const std::string& listen, std::unique_ptr<manager_holder> own, array_label array,
                 const tls_files& tls);
  void start(const std::string& listen, const tls_files& tls);

  std::unique_ptr<manager_holder> own_;  ///< null: it is somebody else's
  std::unique_ptr<impl> impl_;
};

}  // namespace gnstor::serve

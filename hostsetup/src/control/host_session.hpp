#pragma once

#include <gnstor/core/units.hpp>
#include <link/client_identity.hpp>

#include <string>
#include <utility>

namespace gnstor::host {

/// A host that asks a manager for something, or one session of a host: what a host may read each of
/// its sessions may, and what one of them writes no other does.
class host_session {
 public:
  explicit host_session(std::string nqn, client_id session = {})
      : nqn_(std::move(nqn)), session_(session) {}

  const std::string& nqn() const { return nqn_; }
  /// As whom volumes know the host.
  client_id host() const { return client_identity::client_of(nqn_); }
  /// As whom it writes: a session has an id of its own.
  client_id writer() const { return is_session() ? session_ : host(); }
  bool is_session() const { return session_ != client_id{}; }

 private:
  std::string nqn_;
  client_id session_;
};

}  // namespace gnstor::host

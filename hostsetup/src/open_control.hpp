#pragma once

#include <gnstor/host/session.hpp>

#include <control/array_control.hpp>

#include <memory>
#include <string>

namespace gnstor::host {

/// A manager's array, and where it says that the array's data is.
struct managed_array {
  std::unique_ptr<array_control> control;
  std::string data;  ///< an endpoint; empty: nobody serves it
};

/// Connects with the daemon that a `gnstor://` endpoint names, for a session, and completes the
/// endpoint by where the array's data is. Throws `control_error` if the daemon does not answer or
/// refuses this host, `error` if nobody serves the array, or the program has no `gnstor::control`.
std::unique_ptr<array_control> open_control(endpoint& where, const session_options& options);

/// Where the data of a managed array is: what the daemon says, with the options that the user gave.
/// Throws `error` if nobody serves it.
/// @param options their host and subsystem count for nothing
rdma_endpoint data_of(const std::string& said, const control_endpoint& daemon,
                      const rdma_endpoint& options);

}  // namespace gnstor::host

/// What `gnstor::control` defines: a program that does not link it has none.
/// @param host the NQN that is asked for
extern "C" void gnstor_open_daemon(const gnstor::host::control_endpoint& where,
                                   const std::string& host, gnstor::host::managed_array& opened);

#pragma once

#include <managed/daemon_connection.hpp>

#include <string>

namespace gnstor::tools {

/// How a volume is to be exported by NBD.
struct export_wanted {
  std::string server;  ///< of the manager, as --server says it
  host::daemon_connection::tls_files tls;
  std::string volume;  ///< name or id
  std::string listen;  ///< unix:PATH or HOST:PORT; empty: a socket named like the volume
  bool read_only = false;
};

/// The command by which nbdkit exports it, for a shell. Throws `control_error` where the manager
/// listens at a socket of this machine, as no array behind one can be reached, or `listen` is no
/// address.
std::string export_command(const export_wanted& w);

}  // namespace gnstor::tools

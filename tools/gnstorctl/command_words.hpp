#pragma once

#include "local_command.hpp"

#include <managed/daemon_connection.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gnstor::tools {

/// All that the command line of gnstorctl may say.
struct command_words {
  std::string server = "127.0.0.1:4422";
  host::daemon_connection::tls_files tls;
  std::string format = "text";
  std::uint32_t timeout_ms = 30'000;
  double watch_s = 0;
  std::uint32_t times = 0;
  bool yes = false;
  bool force = false;
  bool follow = false;
  bool write = false;
  bool unclean = false;
  bool cancel = false;
  bool spare = false;
  bool read_only = false;
  std::uint64_t from = 0;
  std::string volume;
  std::string name;
  std::string labels;
  std::string owner;
  std::string host_name;
  std::vector<std::string> volumes;
  std::uint64_t bytes = 0;
  std::uint32_t replicas = 0;
  std::uint64_t stripe_bytes = 0;
  std::uint32_t ssd = 0;
  std::uint32_t maintenance_s = 0;
  std::int32_t with = -1;  ///< an SSD; none below 0
  std::string shell;
  std::string listen;
  local_wanted local;
};

}  // namespace gnstor::tools

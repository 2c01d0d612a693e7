#pragma once

#include <command_line/program_log.hpp>
#include <management/manager_options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::tools {

/// The command line of gnstor-target.
struct target_options {
  std::string listen = "0.0.0.0:4420";
  std::string array = "emu:?";
  std::vector<std::uint64_t> volumes;   ///< bytes of volumes 1, 2, ...
  std::vector<std::string> hosts;       ///< NQNs that may connect; empty: all
  std::vector<std::string> reassigned;  ///< VID=NQN: whose volume it is from now on
  std::uint32_t timeout_s = 10;         ///< of commands to the array
  std::string send = "stored";          ///< how long reads leave
  std::string max_transfer = "128K";    ///< data of one command
  bool manages = false;                 ///< the array, too
  manager_options manager;              ///< then
  std::string manager_secret;           ///< file: who knows it manages the array from elsewhere
  std::string managers;                 ///< where those answer: HOST:PORT,...
  std::string faults;                   ///< file: which SSDs are faulty, to rehearse that
  program_log log;
};

/// Reads the command line; the exit code where the program is to end at once.
std::optional<int> parse(int argc, char** argv, target_options& options);

}  // namespace gnstor::tools

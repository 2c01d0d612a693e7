#pragma once

#include <command_line/command_line.hpp>
#include <managed/daemon_connection.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gnstor::tools {

/// What a shell runs to complete gnstorctl's words: a script that asks `gnstorctl complete`.
/// @param shell bash or zsh
std::string completion_script(const std::string& shell);

/// Prints what may stand in the place of the last of `words`, a line each, quoted for a shell. The
/// names of volumes and the numbers of SSDs are the daemon's, if one answers.
void complete(const command_line& line, const std::vector<std::string>& words,
              const std::function<std::unique_ptr<host::daemon_connection>()>& daemon);

}  // namespace gnstor::tools

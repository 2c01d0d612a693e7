#include "completion.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstring>

namespace gnstor::tools {
namespace {

/// A word as a shell reads it.
std::string quoted(const std::string& word) {
  std::string all;
  for (const char c : word) {
    const bool plain = static_cast<unsigned char>(c) >= 0x80 ||
                       std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::strchr("_-./:,+@%=", c) != nullptr;
    if (!plain) all += '\\';
    all += c;
  }
  return all;
}

/// What the daemon knows of an argument.
std::vector<std::string> known(host::daemon_connection& daemon, const std::string& argument) {
  std::vector<std::string> all;
  if (argument == "VOLUME") {
    daemon.volumes([&](const v1::Volume& v) {
      all.push_back(v.name().empty() ? std::to_string(v.id()) : v.name());
    });
  } else if (argument == "INDEX") {
    const v1::Array a = daemon.call(&v1::Control::Stub::ShowArray, v1::ShowArrayRequest{});
    for (int k = 0; k < a.ssds_size(); ++k) all.push_back(std::to_string(k));
  }
  return all;
}

}  // namespace

std::string completion_script(const std::string& shell) {
  constexpr const char* both = R"(_gnstorctl() {
  local IFS=$'\n'
  COMPREPLY=($(gnstorctl complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null))
}
complete -F _gnstorctl gnstorctl
)";
  if (shell == "zsh") return fmt::format("autoload -U +X bashcompinit && bashcompinit\n{}", both);
  return both;
}

void complete(const command_line& line, const std::vector<std::string>& words,
              const std::function<std::unique_ptr<host::daemon_connection>()>& daemon) {
  const command_line::continuation c = line.continued(words);
  for (const std::string& word : c.words) fmt::print("{}\n", word);
  if (c.argument != "VOLUME" && c.argument != "INDEX") return;
  try {
    for (const std::string& word : known(*daemon(), c.argument)) {
      if (word.compare(0, words.back().size(), words.back()) == 0) fmt::print("{}\n", quoted(word));
    }
  } catch (const std::exception&) {
    // Nobody to ask: a shell has no place for the reason.
  }
}

}  // namespace gnstor::tools

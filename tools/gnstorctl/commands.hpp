#pragma once

#include "command_words.hpp"
#include "print.hpp"
#include "rates.hpp"

#include <command_line/command_line.hpp>
#include <managed/daemon_connection.hpp>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::tools {

/// The verbs of gnstorctl: what each may say, and what it does.
class commands {
 public:
  using connection = host::daemon_connection;

  /// @param w where the words behind the verbs go; it has to outlive this
  commands(command_line& line, command_words& w);

  /// What is wanted needs no daemon: a script, or something of this machine. What to print.
  std::optional<std::string> without_daemon() const;
  /// Does what the command line asked for. @return the exit code
  int run(connection& c) const { return chosen_(c); }

 private:
  using command = std::function<int(connection&)>;

  template <class Message, class Text>
  int show(const Message& m, const Text& text) const {
    std::fputs((w_->format == "json" ? json(m) + "\n" : text(m)).c_str(), stdout);
    return 0;
  }
  int show_all(connection& c, std::string (*text)(const std::vector<v1::Volume>&)) const;
  void does(command_line& verb, const char* example, command c);

  void array(command_line& line);
  void ssds(command_line& line);
  void replacement(command_line& line);
  command_line& of_volume(command_line& line, const char* word, const char* about);
  void volumes(command_line& line);
  void exports(command_line& line);
  void changes(command_line& line);
  void rights(command_line& line);
  void leases(command_line& line);
  void hosts(command_line& line);
  void locals(command_line& line);

  command_words* w_;
  command chosen_;
  rates rates_;
  std::string (*local_)(const local_wanted&) = nullptr;
  bool script_ = false;
};

/// A volume by its name, or by its id. Throws `control_error` for a number that is no id.
v1::VolumeKey key_of(const std::string& text);

}  // namespace gnstor::tools

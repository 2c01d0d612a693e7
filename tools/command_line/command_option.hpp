#pragma once

#include <string>
#include <vector>

namespace CLI {
class Option;
}

namespace gnstor::tools {

/// One option of a `command_line`, to state rules for it: a chain of calls right where the option
/// is declared. A word that breaks a rule ends `command_line::parse` with what is wrong with it.
class command_option {
 public:
  explicit command_option(CLI::Option& option) : option_(&option) {}

  /// `--help` says what the value is without this option: what the variable holds now.
  const command_option& show_default() const;
  /// The user has to give it.
  const command_option& required() const;
  /// A number above zero.
  const command_option& positive() const;
  /// A number from zero.
  const command_option& non_negative() const;
  /// A number from `least` to `most`, both included, and a multiple of `step`.
  const command_option& range(int least, int most, int step = 1) const;
  /// One of these words.
  const command_option& one_of(const std::vector<std::string>& words) const;
  /// A size in bytes, which may have a unit: K, M, G, T, each 1024 of the one before.
  const command_option& size() const;
  /// The path of a folder that is there.
  const command_option& existing_folder() const;
  /// Not beside `other`.
  const command_option& excludes(const command_option& other) const;
  /// `--help` does not speak of it.
  const command_option& hidden() const;

 private:
  CLI::Option* option_;
};

}  // namespace gnstor::tools

#pragma once

#include "command_option.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace gnstor::tools {

/// What an option's value may be: a word, a number that fits its type, or a list of such.
template <class T>
concept option_value =
    std::same_as<T, std::string> || std::same_as<T, double> || std::same_as<T, std::uint16_t> ||
    std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, std::vector<std::string>> || std::same_as<T, std::vector<std::uint64_t>>;

/// The command line of a program: its options, what `--help` says of them, and their values;
/// `--version` says the library's.
///
/// CLI11 does the work. It is behind this class because its headers take longer to compile than
/// everything else in a small program.
///
///     std::string endpoint = "emu:";
///     gnstor::tools::command_line line("Sums a volume");
///     line.option("--endpoint", endpoint, "where the array is").show_default();
///     if (const auto code = line.parse(argc, argv)) return *code;
///
/// Variables are bound by reference: they have to be there until `parse` has returned, which sets
/// those whose options are given and leaves the others as they are.
class command_line {
 public:
  /// @param about what the program does, in a sentence: `--help` begins with it
  explicit command_line(const std::string& about);
  ~command_line();
  command_line(command_line&&) = delete;

  /// An option with a value; a `name` without dashes is the next positional argument.
  /// @param about the value, in a few words, for `--help`
  template <option_value T>
  command_option option(const std::string& name, T& value, const std::string& about = "");

  /// An option without a value: sets `given`.
  void flag(const std::string& name, bool& given, const std::string& about);

  /// The program does several things, and the user says by one of these words, (word, what it
  /// does), which one: `command` becomes that word. Options stand before it or behind it.
  void commands(std::string& command,
                std::initializer_list<std::pair<const char*, const char*>> words);

  /// `--config FILE`: options that are not given on the command line are taken from lines
  /// `name = value` there, a name without its dashes; a name that is no option is an error.
  void config_file();

  /// A verb: a word that says what to do, with words and options of its own behind it. What it
  /// returns lives as long as this.
  command_line& verb(const std::string& word, const std::string& about);
  /// What `--help` of a verb ends with.
  void example(const std::string& words);
  /// Where its words are those of this verb, `parse` calls `chosen`, once all values are there.
  void when_given(std::function<void()> chosen);

  /// What may stand in the place of the last of `words`, the beginning of which it is.
  struct continuation {
    std::vector<std::string> words;  ///< verbs, or options
    std::string argument;            ///< or else a value of that name; empty: none
  };
  /// @param words behind the program's name; not empty
  continuation continued(const std::vector<std::string>& words) const;

  /// Reads the words of the command line. Where the program is to end at once, because they are
  /// wrong or ask for help, what is to be said is printed and the exit code returned.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);

 private:
  explicit command_line(CLI::App& verb);

  std::unique_ptr<CLI::App> own_;  ///< of the program, not of its verbs
  CLI::App* app_;
  std::vector<std::unique_ptr<command_line>> verbs_;
};

}  // namespace gnstor::tools

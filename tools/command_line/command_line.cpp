#include "command_line.hpp"

#include <gnstor/host/text_values.hpp>
#include <gnstor/version.hpp>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace gnstor::tools {

namespace {

CLI::Validator multiple_of(int step) {
  const auto check = [step](const std::string& text) {
    std::uint32_t number = 0;
    const bool whole = CLI::detail::lexical_cast(text, number) && number % step == 0;
    return whole ? std::string{} : text + " is no multiple of " + std::to_string(step);
  };
  return CLI::Validator(check, "x " + std::to_string(step));
}

/// For types without a sign: of 64 bits, the parser would take -1, and whatever is too large, for
/// the largest number there is.
CLI::Validator unsigned_number() {
  const auto check = [](const std::string& text) {
    if (text.find('-') != text.npos) return text + " is less than 0";
    errno = 0;
    (void)std::strtoull(text.c_str(), nullptr, 0);  // as the parser reads it
    return errno != ERANGE ? std::string{} : text + " is more than 64 bits hold";
  };
  return CLI::Validator(check, "");
}

/// Puts the number of bytes in the place of a size.
CLI::Validator size_in_bytes() {
  const auto read = [](std::string& text) {
    const std::optional<std::uint64_t> bytes = host::parse_size(text);
    if (!bytes) return text + " is no size: a number of bytes, or one with K, M, G or T behind it";
    text = std::to_string(*bytes);
    return std::string{};
  };
  return CLI::Validator(read, "SIZE");
}

bool begins(const std::string& word, const std::string& begun) {
  return word.compare(0, begun.size(), begun) == 0;
}

/// The option that a word with dashes names, of the verbs so far or the program; null: none.
const CLI::Option* option_of(const std::vector<const CLI::App*>& verbs, const std::string& word) {
  for (const CLI::App* app : verbs) {
    if (const CLI::Option* found = app->get_option_no_throw(word)) return found;
  }
  return nullptr;
}

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}
/// Null if a word is no verb.
const CLI::App* verb_of(const CLI::App& app, const std::string& word) {
  for (const CLI::App* verb : verbs_of(app)) {
    if (verb->get_name() == word) return verb;
  }
  return nullptr;
}

/// The `n`-th argument without a name, from 0; empty: the verb has none.
std::string positional(const CLI::App& verb, std::size_t n) {
  for (const CLI::Option* o : verb.get_options()) {
    if (o->get_positional() && n-- == 0) return o->get_name(true);
  }
  return {};
}

}  // namespace

const command_option& command_option::show_default() const {
  option_->capture_default_str();
  return *this;
}

const command_option& command_option::required() const {
  option_->required();
  return *this;
}

const command_option& command_option::positive() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

const command_option& command_option::non_negative() const {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

const command_option& command_option::range(int least, int most, int step) const {
  const CLI::Validator within = CLI::Range(least, most);
  option_->check(step == 1 ? within : within & multiple_of(step));
  return *this;
}

const command_option& command_option::one_of(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}

const command_option& command_option::size() const {
  option_->transform(size_in_bytes());
  return *this;
}

const command_option& command_option::existing_folder() const {
  option_->check(CLI::ExistingDirectory);
  return *this;
}

const command_option& command_option::excludes(const command_option& other) const {
  option_->excludes(other.option_);
  return *this;
}

const command_option& command_option::hidden() const {
  option_->group("");
  return *this;
}

command_line::command_line(const std::string& about)
    : own_(std::make_unique<CLI::App>(about)), app_(own_.get()) {
  app_->set_version_flag("--version", std::string("gnstor ") + version_text);
}

command_line::command_line(CLI::App& verb) : app_(&verb) {}

command_line::~command_line() = default;

template <option_value T>
command_option command_line::option(const std::string& name, T& value, const std::string& about) {
  CLI::Option& made = *app_->add_option(name, value, about);
  if constexpr (std::unsigned_integral<T> || std::same_as<T, std::vector<std::uint64_t>>)
    made.check(unsigned_number());
  return command_option(made);
}

using text = const std::string&;
template command_option command_line::option(text, std::string&, text);
template command_option command_line::option(text, double&, text);
template command_option command_line::option(text, std::uint16_t&, text);
template command_option command_line::option(text, std::uint32_t&, text);
template command_option command_line::option(text, std::uint64_t&, text);
template command_option command_line::option(text, std::int32_t&, text);
template command_option command_line::option(text, std::int64_t&, text);
template command_option command_line::option(text, std::vector<std::string>&, text);
template command_option command_line::option(text, std::vector<std::uint64_t>&, text);

void command_line::flag(const std::string& name, bool& given, const std::string& about) {
  app_->add_flag(name, given, about);
}

void command_line::commands(std::string& command,
                            std::initializer_list<std::pair<const char*, const char*>> words) {
  app_->require_subcommand(1);
  app_->fallthrough();
  for (const auto& [word, about] : words) {
    app_->add_subcommand(word, about)->callback([&command, name = word] { command = name; });
  }
}

void command_line::config_file() {
  app_->set_config("--config", "", "FILE with options, a line each: name = value");
  app_->allow_config_extras(CLI::config_extras_mode::error);
}

command_line& command_line::verb(const std::string& word, const std::string& about) {
  app_->require_subcommand(1);
  CLI::App* made = app_->add_subcommand(word, about);
  made->fallthrough();  // the program's own options may stand behind it, too
  verbs_.push_back(std::unique_ptr<command_line>(new command_line(*made)));
  return *verbs_.back();
}

void command_line::example(const std::string& words) { app_->footer("Example:\n  " + words); }

void command_line::when_given(std::function<void()> chosen) {
  app_->final_callback(std::move(chosen));
}

command_line::continuation command_line::continued(const std::vector<std::string>& words) const {
  std::vector<const CLI::App*> verbs{app_};
  std::size_t arguments = 0;
  bool value = false;  // the word belongs to the option before it
  for (std::size_t k = 0; k + 1 < words.size(); ++k) {
    if (std::exchange(value, false)) continue;
    if (begins(words[k], "-")) {
      const CLI::Option* o = option_of(verbs, words[k]);
      value = o != nullptr && o->get_items_expected_max() > 0;
    } else if (const CLI::App* verb = verb_of(*verbs.back(), words[k])) {
      verbs.push_back(verb);
      arguments = 0;
    } else {
      ++arguments;
    }
  }
  continuation c;
  const std::string& begun = words.back();
  if (value) return c;
  const auto add = [&](const std::string& word) {
    if (begins(word, begun)) c.words.push_back(word);
  };
  if (begins(begun, "-")) {
    for (const CLI::App* app : verbs) {
      for (const CLI::Option* o : app->get_options()) {
        for (const std::string& name : o->get_lnames()) {
          if (!o->get_group().empty()) add("--" + name);
        }
      }
    }
    return c;
  }
  for (const CLI::App* verb : verbs_of(*verbs.back())) add(verb->get_name());
  if (c.words.empty()) c.argument = positional(*verbs.back(), arguments);
  return c;
}

std::optional<int> command_line::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app_->exit(e);
  }
  return std::nullopt;
}

}  // namespace gnstor::tools

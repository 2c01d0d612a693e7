#include "rule_parser.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/text_values.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace gnstor::host {

namespace {

/// Where an option ends: at a ; outside of quotes. Empty if there is none; `quoted` says why.
std::optional<std::size_t> end_of_option(std::string_view text, bool& quoted) {
  quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '\\' && quoted) {
      ++k;
    } else if (text[k] == '"') {
      quoted = !quoted;
    } else if (text[k] == ';' && !quoted) {
      return k;
    }
  }
  return {};
}

/// True for options that are about the content before them.
bool of_content(std::string_view name) {
  return name == "nocase" || name == "offset" || name == "depth";
}

}  // namespace

void rule_parser::take_options(std::string_view options) {
  for (options = trimmed(options); !options.empty();) {
    bool quoted = false;
    const std::optional<std::size_t> end = end_of_option(options, quoted);
    if (!end && quoted) refuse("a string without its end: write \" behind it");
    if (!end) refuse(fmt::format("option {} does not end: write ; behind it", options));
    const std::string_view option = trimmed(options.substr(0, *end));
    options = trimmed(options.substr(*end + 1));
    const auto colon = option.find(':');
    const bool has_value = colon != std::string_view::npos;
    take_option(trimmed(option.substr(0, colon)),
                has_value ? trimmed(option.substr(colon + 1)) : std::string_view(), has_value);
  }
}

void rule_parser::take_option(std::string_view name, std::string_view value, bool has_value) {
  constexpr std::string_view known[] = {"msg",   "content", "nocase", "offset",
                                        "depth", "sid",     "rev"};
  if (std::ranges::find(known, name) == std::end(known)) {
    refuse(
        fmt::format("unknown option {}: these exist: {}; leave it out, and see whether the rule "
                    "still says what it should",
                    name, fmt::join(known, ", ")));
  }
  if (has_value == (name == "nocase"))
    refuse(
        fmt::format("{}: write {}", name, has_value ? "nocase; without a value" : "NAME:VALUE;"));
  // Those of a content may be there again behind the next one.
  if (name == "content") std::erase_if(seen_, [](const auto& s) { return of_content(s.first); });
  if (name != "content" && !seen_.emplace(name, true).second)
    refuse(fmt::format("{} is there twice: leave one out", name));
  intrusion_rule& r = now_.rule;
  if (name == "msg") now_.message = string_in(value, false);
  if (name == "content") take_content(value);
  if (name == "sid") take_sid(value);
  if (name == "rev") r.revision = number_in(name, value, 1);
  if (name == "nocase") last_content(name).nocase = 1;
  if (name == "offset") last_content(name).offset = number_in(name, value, 0);
  if (name != "depth") return;
  intrusion_rule::content& c = last_content(name);
  c.depth = number_in(name, value, 1);
  if (c.depth < c.length) {
    refuse(
        fmt::format("depth {} is less than the {} bytes of its content: none would be found; "
                    "write {} or more",
                    c.depth, c.length, c.length));
  }
}

void rule_parser::take_content(std::string_view value) {
  if (value.starts_with('!'))
    refuse("content:!: contents that must not be there are not read: leave the ! out, or the rule");
  const std::string bytes = string_in(value, true);
  if (bytes.empty()) refuse("an empty content: write the bytes that are looked for");
  if (bytes.size() > 1500)
    refuse(fmt::format("a content of {} bytes: write 1500 at most", bytes.size()));
  set_.contents_.push_back({static_cast<std::uint32_t>(set_.text_.size()),
                            static_cast<std::uint32_t>(bytes.size()), 0, 0,
                            intrusion_rule::no_end});
  set_.text_ += bytes;
  ++now_.rule.contents;
}

void rule_parser::take_sid(std::string_view value) {
  now_.rule.sid = number_in("sid", value, 1);
  const auto [other, is_new] = lines_.emplace(now_.rule.sid, line_);
  if (!is_new) {
    refuse(fmt::format("sid {} is that of line {}: give each rule a number of its own",
                       now_.rule.sid, other->second));
  }
}

intrusion_rule::content& rule_parser::last_content(std::string_view option) {
  if (now_.rule.contents == 0)
    refuse(fmt::format("{} before any content: write it behind the one that it is about", option));
  return set_.contents_.back();
}

std::uint32_t rule_parser::number_in(std::string_view option, std::string_view value,
                                     std::uint64_t least) const {
  const std::optional<std::uint64_t> n = parse_number(value);
  if (!n || *n < least || *n > 0xffffffff)
    refuse(fmt::format("{}:{}: write a number, {} to 4294967295", option, value, least));
  return static_cast<std::uint32_t>(*n);
}

std::string rule_parser::string_in(std::string_view value, bool takes_hex) const {
  if (!value.starts_with('"'))
    refuse(fmt::format("{}: write it between \" and \"", value.empty() ? "no value" : value));
  std::string bytes;
  for (std::size_t k = 1; k < value.size(); ++k) {
    const char c = value[k];
    if (c == '"') {
      if (k + 1 == value.size()) return bytes;
      refuse(fmt::format("{} behind a string: write ; there, and each option by itself",
                         value.substr(k + 1)));
    }
    if (c == '|' && takes_hex) {
      const std::size_t end = std::min(value.find('|', k + 1), value.size());
      if (end == value.size()) refuse("hex bytes without their end: write | behind them");
      bytes += hex_in(value.substr(k + 1, end - k - 1));
      k = end;
    } else if (c != '\\') {
      bytes += c;
    } else {
      const char what = k + 1 < value.size() ? value[++k] : ' ';
      if (std::string_view("\"\\;:|").find(what) == std::string_view::npos)
        refuse(fmt::format("\\{}: a \\ is written before \" \\ ; : and | alone; itself as \\\\",
                           what));
      bytes += what;
    }
  }
  refuse("a string without its end: write \" behind it");
}

std::string rule_parser::hex_in(std::string_view value) const {
  std::string bytes;
  for (std::string_view rest = trimmed(value); !rest.empty(); rest = trimmed(rest)) {
    std::uint8_t byte = 0;
    const std::size_t digits = std::min<std::size_t>(rest.size(), 2);
    const auto [end, fault] = std::from_chars(rest.data(), rest.data() + digits, byte, 16);
    if (fault != std::errc{} || end != rest.data() + 2)
      refuse(fmt::format("|{}|: write two hex digits for each byte, such as |0d 0a|", value));
    bytes += static_cast<char>(byte);
    rest.remove_prefix(2);
  }
  if (bytes.empty()) refuse("||: write hex bytes between them, such as |0d 0a|");
  return bytes;
}

}  // namespace gnstor::host

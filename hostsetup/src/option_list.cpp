#include "option_list.hpp"

#include <gnstor/host/text_values.hpp>

namespace gnstor::host {

std::string wanted(const option_syntax& s) {
  switch (s.what) {
    case option_syntax::kind::number:
      return fmt::format("expected a number from {} to {}", s.low, s.high);
    case option_syntax::kind::size:
      return fmt::format(
          "expected a size such as 64M, up to {}T: a number of bytes, or one with K, M, G or T "
          "behind it",
          s.high >> 40);
    case option_syntax::kind::text: return fmt::format("name a {}, or leave it away", s.stands_for);
    case option_syntax::kind::word: break;
  }
  return "expected " + s.usage();
}

std::optional<option_value> read_value(const option_syntax& s, std::string_view text) {
  if (s.what == option_syntax::kind::text) {
    return text.empty() ? std::nullopt : std::optional(option_value{0, text});
  }
  if (s.what == option_syntax::kind::word) {
    const auto at = std::find(s.words.begin(), s.words.end(), text);
    if (at == s.words.end()) return {};
    return option_value{static_cast<std::uint64_t>(at - s.words.begin()), text};
  }
  const auto number = s.what == option_syntax::kind::size ? parse_size(text) : parse_number(text);
  if (!number || *number < s.low || *number > s.high) return {};
  return option_value{*number, text};
}

}  // namespace gnstor::host

#pragma once

#include <gnstor/host/rule_set.hpp>

#include <map>
#include <string>
#include <string_view>

namespace gnstor::host {

/// Without blanks at both ends.
inline std::string_view trimmed(std::string_view s) {
  constexpr std::string_view blanks = " \t\r\f\v";
  const auto begin = s.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(blanks) - begin + 1);
}

/// Reads the rules of a text, one per line; a line that ends with \ goes on in the next one.
class rule_parser {
 public:
  rule_parser(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}
  rule_set parse();

 private:
  void take_rule(const std::string& all);
  void take_head(std::string_view head);
  void take_options(std::string_view options);
  void take_option(std::string_view name, std::string_view value, bool has_value);
  void take_content(std::string_view value);
  void take_sid(std::string_view value);

  intrusion_rule::network network_in(std::string_view text) const;
  intrusion_rule::ports ports_in(std::string_view text) const;
  std::string string_in(std::string_view value, bool takes_hex) const;
  std::string hex_in(std::string_view value) const;
  std::uint32_t number_in(std::string_view option, std::string_view value,
                          std::uint64_t least) const;
  intrusion_rule::content& last_content(std::string_view option);
  /// Throws `input_error`: FILE:LINE: what.
  [[noreturn]] void refuse(const std::string& what) const;

  std::string_view text_;
  std::string name_;
  std::uint32_t line_ = 0;  ///< where the rule begins
  rule_set set_;
  rule_set::entry now_;
  std::map<std::uint32_t, std::uint32_t> lines_;   ///< of the numbers of rules
  std::map<std::string, bool, std::less<>> seen_;  ///< options that may not be there again
};

}  // namespace gnstor::host

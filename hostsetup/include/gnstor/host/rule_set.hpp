#pragma once

#include <gnstor/packet/intrusion_rule.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// Rules of intrusion detection, read from text, of which it makes the words of
/// `intrusion_rules`. A part of the language of Snort: see docs/packet-inspection.md.
class rule_set {
 public:
  struct entry {
    intrusion_rule rule;
    std::string message;     ///< `msg`
    std::uint32_t line = 0;  ///< where it begins
  };

  /// The rules of a file. Throws `input_error` with FILE:LINE, what is wrong there and what to
  /// write instead, or if the file cannot be read or has no rule.
  static rule_set read(const std::string& path);
  /// The same of a text. @param name stands for FILE
  static rule_set parse(std::string_view text, const std::string& name);

  std::size_t size() const { return rules_.size(); }
  const entry& operator[](std::size_t k) const { return rules_[k]; }
  const std::vector<entry>& rules() const { return rules_; }
  /// Bytes of a rule's k-th content.
  std::string_view content(const intrusion_rule& r, std::uint32_t k) const;

  /// The words of `intrusion_rules`, in this memory or copied to where kernels run.
  /// Throws `input_error` if a group's automaton is too large: see `pattern_set::compile`.
  std::vector<std::uint32_t> compile() const;

 private:
  friend class rule_parser;

  std::vector<entry> rules_;
  std::vector<intrusion_rule::content> contents_;
  std::string text_;
};

}  // namespace gnstor::host

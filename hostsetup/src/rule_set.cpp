#include "rule_parser.hpp"
#include "text_lines.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/pattern_set.hpp>
#include <gnstor/packet/intrusion_rules.hpp>

#include <fmt/format.h>

#include <cstring>
#include <map>

namespace gnstor::host {

namespace {

using group_side = intrusion_rules::side;

/// The group of a rule: by a single destination port, else by a single source port.
std::uint32_t group_key(const intrusion_rule& r) {
  const auto is_single = [](const intrusion_rule::ports& p) {
    return p.first == p.last && p.negated == 0;
  };
  const auto s = r.action == intrusion_rule::pass ? intrusion_rules::stage::pass
                                                  : intrusion_rules::stage::others;
  if (is_single(r.destination_ports)) {
    return intrusion_rules::key_of(s, r.protocol, group_side::destination,
                                   r.destination_ports.first);
  }
  if (is_single(r.source_ports))
    return intrusion_rules::key_of(s, r.protocol, group_side::source, r.source_ports.first);
  return intrusion_rules::key_of(s, r.protocol, group_side::any_port, 0);
}

/// Words behind each other, and where each piece begins.
class word_writer {
 public:
  template <class T>
  std::uint32_t add(const T* from, std::size_t count) {
    const std::size_t at = words.size();
    words.resize(at + (count * sizeof(T) + 3) / 4);
    if (count != 0) std::memcpy(words.data() + at, from, count * sizeof(T));
    return static_cast<std::uint32_t>(at);
  }
  std::vector<std::uint32_t> words;
};

}  // namespace

rule_set rule_set::read(const std::string& path) { return parse(text_of(path), path); }

rule_set rule_set::parse(std::string_view text, const std::string& name) {
  return rule_parser(text, name).parse();
}

std::string_view rule_set::content(const intrusion_rule& r, std::uint32_t k) const {
  const intrusion_rule::content& c = contents_.at(r.first_content + k);
  return std::string_view(text_).substr(c.at, c.length);
}

std::vector<std::uint32_t> rule_set::compile() const {
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_group;
  std::vector<intrusion_rule> rules;
  for (const entry& e : rules_) {
    by_group[group_key(e.rule)].push_back(static_cast<std::uint32_t>(rules.size()));
    rules.push_back(e.rule);
  }
  word_writer out;
  intrusion_rules::header top{};
  out.add(&top, 1);
  top.rules = static_cast<std::uint32_t>(rules.size());
  top.rules_at = out.add(rules.data(), rules.size());
  top.contents_at = out.add(contents_.data(), contents_.size());
  top.text_at = out.add(text_.data(), text_.size());
  std::vector<intrusion_rules::group> groups;
  for (const auto& [key, members] : by_group) {
    pattern_set patterns;
    std::vector<std::uint32_t> of_pattern;
    std::vector<std::uint32_t> always;
    for (const std::uint32_t which : members) {
      const intrusion_rule& r = rules[which];
      if (r.contents == 0) {
        always.push_back(which);
        continue;
      }
      std::uint32_t best = 0;
      for (std::uint32_t k = 1; k < r.contents; ++k)
        if (content(r, k).size() > content(r, best).size()) best = k;
      patterns.add(content(r, best), contents_[r.first_content + best].nocase != 0);
      of_pattern.push_back(which);
    }
    const std::vector<std::uint32_t> automaton = patterns.compile();
    intrusion_rules::group g{};
    g.key = key;
    g.automaton_at = out.add(automaton.data(), automaton.size());
    g.automaton_words = static_cast<std::uint32_t>(automaton.size());
    g.rules_at = out.add(of_pattern.data(), of_pattern.size());
    g.always_at = out.add(always.data(), always.size());
    g.always = static_cast<std::uint32_t>(always.size());
    groups.push_back(g);
  }
  top.groups = static_cast<std::uint32_t>(groups.size());
  top.groups_at = out.add(groups.data(), groups.size());
  if (out.words.size() > ~0u) {
    throw input_error(
        fmt::format("rule_set: automata of {} MiB: 16384 are the most; use fewer rules",
                    out.words.size() >> 18));
  }
  std::memcpy(out.words.data(), &top, sizeof top);
  return std::move(out.words);
}

}  // namespace gnstor::host

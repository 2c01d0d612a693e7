#include "rule_parser.hpp"

#include <gnstor/host/address_text.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/text_values.hpp>

#include <fmt/format.h>

#include <array>
#include <optional>
#include <sstream>

namespace gnstor::host {

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string w; in >> w;) words.push_back(w);
  return words;
}

}  // namespace

void rule_parser::refuse(const std::string& what) const {
  throw input_error(fmt::format("{}:{}: {}", name_, line_, what));
}

rule_set rule_parser::parse() {
  std::istringstream in{std::string(text_)};
  std::string all;
  std::uint32_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (all.empty()) line_ = number;
    const std::string_view part = trimmed(line);
    if (all.empty() && part.starts_with('#')) continue;
    if (part.ends_with('\\')) {
      all += std::string(part.substr(0, part.size() - 1)) + ' ';
      continue;
    }
    all += part;
    if (!trimmed(all).empty()) take_rule(all);
    all.clear();
  }
  if (!all.empty())
    refuse("the last line ends with \\: write the rest of the rule, or leave it out");
  if (set_.rules_.empty())
    throw input_error(name_ + ": no rule in it: write one per line, see docs/packet-inspection.md");
  return std::move(set_);
}

void rule_parser::take_rule(const std::string& all) {
  now_ = {};
  now_.line = line_;
  now_.rule.first_content = static_cast<std::uint32_t>(set_.contents_.size());
  seen_.clear();
  const auto open = all.find('(');
  if (open == std::string::npos) refuse("no (options): write at least (sid:1;) behind the ports");
  take_head(std::string_view(all).substr(0, open));
  std::string_view options = trimmed(std::string_view(all).substr(open + 1));
  if (!options.ends_with(')'))
    refuse("the options do not end with ): write it, or end the string before it with \"");
  take_options(options.substr(0, options.size() - 1));
  if (now_.rule.sid == 0) refuse("no sid: write sid:N; with a number of its own");
  set_.rules_.push_back(now_);
}

void rule_parser::take_head(std::string_view head) {
  const std::vector<std::string> words = words_of(head);
  if (words.size() != 7) {
    refuse(
        fmt::format("{} words before the options: write ACTION PROTOCOL ADDRESS PORT -> ADDRESS "
                    "PORT, lists without spaces",
                    words.size()));
  }
  const auto which = [this](const std::string& word, const char* what, const auto& names) {
    for (const auto& [name, value] : names)
      if (word == name) return static_cast<std::uint32_t>(value);
    std::string known;
    for (const auto& [name, value] : names)
      known += (known.empty() ? "" : ", ") + std::string(name);
    refuse(fmt::format("{} {}: use one of {}", what, word, known));
  };
  using named = std::pair<const char*, int>;
  intrusion_rule& r = now_.rule;
  r.action =
      which(words[0], "action",
            std::array{named{"alert", intrusion_rule::alert}, named{"drop", intrusion_rule::drop},
                       named{"pass", intrusion_rule::pass}});
  r.protocol =
      which(words[1], "protocol",
            std::array{named{"tcp", 6}, named{"udp", 17}, named{"icmp", 1}, named{"ip", 0}});
  if (words[4] == "<>") refuse("direction <>: write two rules, one for each way");
  if (words[4] != "->") refuse(fmt::format("direction {}: write ->", words[4]));
  r.source = network_in(words[2]);
  r.source_ports = ports_in(words[3]);
  r.destination = network_in(words[5]);
  r.destination_ports = ports_in(words[6]);
}

intrusion_rule::network rule_parser::network_in(std::string_view text) const {
  const std::string whole(text);
  intrusion_rule::network n{0, 0, text.starts_with('!') ? 1u : 0u};
  if (n.negated != 0) text.remove_prefix(1);
  if (text == "any" && n.negated == 0) return n;
  const auto slash = text.find('/');
  const auto address = parse_ipv4(text.substr(0, slash));
  std::optional<std::uint64_t> bits = 32;
  if (slash != std::string_view::npos) bits = parse_number(text.substr(slash + 1));
  if (!address || !bits || *bits > 32 || (*bits == 0 && n.negated != 0)) {
    refuse(
        fmt::format("address {}: write any, A.B.C.D or A.B.C.D/BITS, the last two also with ! "
                    "before them; for a list several rules, for a variable its value",
                    whole));
  }
  n.mask = *bits == 0 ? 0 : ~0u << (32 - *bits);
  n.address = *address & n.mask;
  return n;
}

intrusion_rule::ports rule_parser::ports_in(std::string_view text) const {
  const std::string whole(text);
  intrusion_rule::ports p{0, 65'535, text.starts_with('!') ? 1u : 0u};
  if (p.negated != 0) text.remove_prefix(1);
  if (text == "any" && p.negated == 0) return p;
  const auto colon = text.find(':');
  std::optional<std::uint64_t> first = parse_number(text.substr(0, colon));
  std::optional<std::uint64_t> last = first;
  if (colon != std::string_view::npos && text.size() > 1) {
    if (colon == 0) first = 0;
    last = colon + 1 == text.size() ? 65'535 : parse_number(text.substr(colon + 1));
  }
  const bool is_all = first == 0u && last == 65'535u;
  if (!first || !last || *first > *last || *last > 65'535 || (is_all && p.negated != 0)) {
    refuse(
        fmt::format("port {}: write any, N, N:M, N: or :M with numbers up to 65535, all but any "
                    "also with ! before them; for a list several rules",
                    whole));
  }
  if (now_.rule.protocol != 6 && now_.rule.protocol != 17)
    refuse(fmt::format("port {}: icmp and ip have no ports: write any", whole));
  p.first = static_cast<std::uint32_t>(*first);
  p.last = static_cast<std::uint32_t>(*last);
  return p;
}

}  // namespace gnstor::host

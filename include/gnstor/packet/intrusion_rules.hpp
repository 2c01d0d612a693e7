#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/packet/intrusion_rule.hpp>
#include <gnstor/packet/pattern_automaton.hpp>
#include <gnstor/packet/payload_view.hpp>

namespace gnstor::inline v0 {

/// Rules in groups, as `host::rule_set` compiles them: a view, passed by value, of words that may
/// lie anywhere.
///
/// Rules of one protocol that name one destination port are a group, else those that name one
/// source port, else the rest of the protocol. An automaton per group looks for one content of each
/// of its rules, the longest; only rules whose content it found are compared with the packet.
class intrusion_rules {
 public:
  /// Where a group's rules are looked for: rules that pass packets come first, by themselves.
  enum class stage : std::uint32_t { pass, others };
  enum class side : std::uint32_t { any_port, destination, source };

  struct group {
    std::uint32_t key;           ///< `key_of`; groups are in its order
    std::uint32_t automaton_at;  ///< places of words, likewise
    std::uint32_t automaton_words;
    std::uint32_t rules_at;   ///< the rule of each pattern
    std::uint32_t always_at;  ///< rules without any content
    std::uint32_t always;     ///< how many
  };
  struct header {
    std::uint32_t rules;
    std::uint32_t rules_at;
    std::uint32_t contents_at;
    std::uint32_t text_at;
    std::uint32_t groups;
    std::uint32_t groups_at;
  };

  intrusion_rules() = default;
  GNSTOR_HD explicit intrusion_rules(const std::uint32_t* words) : words_(words) {}

  GNSTOR_HD static constexpr std::uint32_t key_of(stage s, std::uint32_t protocol, side of,
                                                  std::uint32_t port) {
    return static_cast<std::uint32_t>(s) << 31 | protocol << 18 |
           static_cast<std::uint32_t>(of) << 16 | port;
  }

  GNSTOR_HD std::uint32_t size() const { return top().rules; }
  GNSTOR_HD const intrusion_rule& rule(std::uint32_t k) const {
    return at<intrusion_rule>(top().rules_at)[k];
  }

  /// Calls `visit(rule)` for each rule of a stage that a packet may match, perhaps several times.
  /// @par Bound four groups: a step per byte of the payload, and one per visit
  template <class Visit>
  GNSTOR_HD void for_candidates(stage s, const payload_view& packet, Visit&& visit) const {
    const packet_flow_key& key = packet.key;
    const bool has_ports =
        key.protocol == static_cast<std::uint32_t>(wire::ethernet::ip_protocol::tcp) ||
        key.protocol == static_cast<std::uint32_t>(wire::ethernet::ip_protocol::udp);
    if (has_ports) {
      visit_group(key_of(s, key.protocol, side::destination, key.destination_port), packet, visit);
      visit_group(key_of(s, key.protocol, side::source, key.source_port), packet, visit);
    }
    if (key.protocol != intrusion_rule::any_protocol)
      visit_group(key_of(s, key.protocol, side::any_port, 0), packet, visit);
    visit_group(key_of(s, intrusion_rule::any_protocol, side::any_port, 0), packet, visit);
  }

  /// True if addresses, ports and all contents of a rule are those of a packet of its protocol.
  /// @par Bound bytes of the payload times bytes of the contents
  GNSTOR_HD bool matches(const intrusion_rule& r, const payload_view& packet) const {
    const packet_flow_key& key = packet.key;
    if (!r.source.has(key.source) || !r.destination.has(key.destination) ||
        !r.source_ports.has(key.source_port) || !r.destination_ports.has(key.destination_port)) {
      return false;
    }
    const auto* const contents = at<intrusion_rule::content>(top().contents_at);
    for (std::uint32_t k = 0; k < r.contents; ++k)
      if (!is_in(contents[r.first_content + k], packet)) return false;
    return true;
  }

 private:
  template <class T>
  GNSTOR_HD const T* at(std::uint32_t place) const {
    return reinterpret_cast<const T*>(words_ + place);
  }
  GNSTOR_HD const header& top() const { return *at<header>(0); }

  template <class Visit>
  GNSTOR_HD void visit_group(std::uint32_t key, const payload_view& packet, Visit& visit) const {
    const auto* const groups = at<group>(top().groups_at);
    std::uint32_t low = 0;
    std::uint32_t high = top().groups;
    for (bounded halvings{32}; halvings && low < high;) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (groups[middle].key < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == top().groups || groups[low].key != key) return;
    const group g = groups[low];
    for (std::uint32_t k = 0; k < g.always; ++k) visit(words_[g.always_at + k]);
    pattern_automaton(words_ + g.automaton_at, g.automaton_words)
        .scan(packet.bytes, packet.length,
              [&](std::uint32_t pattern, std::uint32_t) { visit(words_[g.rules_at + pattern]); });
  }

  GNSTOR_HD bool is_in(const intrusion_rule::content& c, const payload_view& packet) const {
    if (c.offset > packet.length) return false;
    std::uint32_t bytes = packet.length - c.offset;
    if (c.depth != intrusion_rule::no_end && c.depth < bytes) bytes = c.depth;
    if (c.length > bytes) return false;
    const unsigned char* const what = at<unsigned char>(top().text_at) + c.at;
    const unsigned char* const where = packet.bytes + c.offset;
    for (std::uint32_t begin = 0; begin <= bytes - c.length; ++begin)
      if (is_same(what, where + begin, c)) return true;
    return false;
  }
  GNSTOR_HD static bool is_same(const unsigned char* a, const unsigned char* b,
                                const intrusion_rule::content& c) {
    for (std::uint32_t k = 0; k < c.length; ++k) {
      const bool same = c.nocase != 0
                            ? pattern_automaton::folded(a[k]) == pattern_automaton::folded(b[k])
                            : a[k] == b[k];
      if (!same) return false;
    }
    return true;
  }

  const std::uint32_t* words_ = nullptr;
};

static_assert(std::is_trivially_copyable_v<intrusion_rules>);

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/packet/alert_ring.hpp>
#include <gnstor/packet/intrusion_counts.hpp>
#include <gnstor/packet/intrusion_rules.hpp>
#include <gnstor/packet/packet_application.hpp>

namespace gnstor::inline v0 {

/// A packet application that compares each packet with rules: it raises alerts, and drops what a
/// rule says to drop. `host::intrusion_detection` makes it, with the memory that it works on.
///
/// Rules that say pass come first: a packet that matches one goes on, and no other rule is asked.
/// Frames that cannot be inspected are counted by their cause and go on, unless they are to be
/// dropped. A rule counts once for each packet, however often its contents are in it.
struct intrusion_detector {
  intrusion_rules rules;
  intrusion_counts* counts = nullptr;  ///< zeroed; of all lanes
  std::uint64_t* matches = nullptr;    ///< zeroed; packets that matched each rule
  alert_ring alerts;
  /// Of each lane, how many packets it has compared; then, of each rule and lane, the one of these
  /// that was last compared with it. Zeroed; (rules + 1) * `lanes` words.
  std::uint32_t* compared = nullptr;
  std::uint32_t lanes = 0;         ///< of the flow, at most: its `depth`
  bool drops_uninspected = false;  ///< malformed frames and fragments; not other protocols

  /// @par Callers each lane for its own packets; not more lanes than `lanes`
  /// @par Result `drop` if a rule says so, `forward` otherwise
  /// @par Bound the bytes of a frame times those of the rules' contents
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane& lane, packet p) {
    using kind = payload_view::kind;
    const payload_view view = payload_view::of(p.data(), p.length());
    switch (view.what) {
      case kind::not_ipv4: add(counts->not_ipv4); return packet_verdict::forward;
      case kind::malformed:
        add(counts->malformed);
        return drops_uninspected ? p.refuse(packet_cause::malformed) : packet_verdict::forward;
      case kind::fragment:
        add(counts->fragments);
        return drops_uninspected ? p.refuse(packet_cause::unsupported) : packet_verdict::forward;
      case kind::whole: break;
    }
    add(counts->inspected);
    if (view.has_options) add(counts->with_options);
    const mark now = next_mark(lane.global_thread());
    bool passes = false;
    compare(intrusion_rules::stage::pass, now, view,
            [&passes](const intrusion_rule&, std::uint32_t) { passes = true; });
    if (passes) {
      add(counts->passed);
      return packet_verdict::forward;
    }
    bool drops = false;
    compare(intrusion_rules::stage::others, now, view,
            [&](const intrusion_rule& r, std::uint32_t which) {
              drops = drops || r.action == intrusion_rule::drop;
              alerts.push({which, r.sid, r.revision, r.action, view.key});
            });
    if (!drops) return packet_verdict::forward;
    add(counts->dropped);
    return packet_verdict::drop;
  }

 private:
  GNSTOR_HD static void add(std::uint64_t& counter) {
    device_word<std::uint64_t>(counter).fetch_add(1, relaxed);
  }
  /// A lane's packet. Words of other lanes are never touched.
  struct mark {
    std::uint32_t lane;
    std::uint32_t number;
  };
  GNSTOR_HD std::uint32_t& last_compared(std::uint32_t rule, std::uint32_t lane) const {
    return compared[(std::uint64_t{rule} + 1) * lanes + lane];
  }

  /// The next number; when 32 bits are through, what was compared is forgotten.
  GNSTOR_HD mark next_mark(std::uint32_t lane) const {
    GNSTOR_VERIFY(lane < lanes);
    std::uint32_t& number = compared[lane];
    if (++number == 0) {
      for (std::uint32_t k = 0; k < rules.size(); ++k) last_compared(k, lane) = 0;
      number = 1;
    }
    return {lane, number};
  }

  /// Calls `found(rule, its place)` once for each rule of a stage that the packet matches.
  template <class Found>
  GNSTOR_HD void compare(intrusion_rules::stage s, const mark& now, const payload_view& view,
                         Found&& found) const {
    rules.for_candidates(s, view, [&](std::uint32_t which) {
      std::uint32_t& before = last_compared(which, now.lane);
      if (before == now.number) return;
      before = now.number;
      const intrusion_rule& r = rules.rule(which);
      if (!rules.matches(r, view)) return;
      add(matches[which]);
      found(r, which);
    });
  }
};

static_assert(packet_application<intrusion_detector>);
static_assert(sizeof(intrusion_detector) <= 104);

}  // namespace gnstor::inline v0

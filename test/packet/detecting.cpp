/// Packets compared with rules in kernels, against a serial reference.
// label: thorough

#include "drawn_intrusion.hpp"
#include "scripted_wire.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/intrusion_detection.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using kind = reference_packet::kind;
/// An alert without its rule's place: sid, revision, action, and the packet's key.
using alert_words = std::array<std::uint64_t, 8>;

alert_words words_of(const intrusion_alert& a) {
  return {a.sid,
          a.revision,
          a.action,
          a.key.source,
          a.key.destination,
          a.key.source_port,
          a.key.destination_port,
          a.key.protocol};
}

/// What a detector has to say about a script.
struct expectation {
  std::vector<frame_bytes> forwarded;
  std::vector<alert_words> alerts;
  std::vector<std::uint64_t> matches;
  intrusion_counts counts{};

  expectation(const std::vector<reference_rule>& rules, bool drops_uninspected,
              const std::vector<frame_bytes>& frames)
      : matches(rules.size()) {
    for (const frame_bytes& f : frames)
      if (passes(rules, drops_uninspected, reference_packet(f))) forwarded.push_back(f);
    std::ranges::sort(alerts);
  }

 private:
  bool passes(const std::vector<reference_rule>& rules, bool drops_uninspected,
              const reference_packet& p) {
    counts.not_ipv4 += p.what == kind::not_ipv4;
    counts.malformed += p.what == kind::malformed;
    counts.fragments += p.what == kind::fragment;
    if (p.what != kind::whole) return p.what == kind::not_ipv4 || !drops_uninspected;
    ++counts.inspected;
    counts.with_options += p.has_options;
    bool is_passed = false;
    for (std::size_t k = 0; k < rules.size(); ++k) {
      if (rules[k].action != "pass" || !p.matches(rules[k])) continue;
      is_passed = true;
      ++matches[k];
    }
    counts.passed += is_passed;
    if (is_passed) return true;
    bool is_dropped = false;
    for (std::size_t k = 0; k < rules.size(); ++k) {
      if (rules[k].action == "pass" || !p.matches(rules[k])) continue;
      ++matches[k];
      const bool drops = rules[k].action == "drop";
      is_dropped = is_dropped || drops;
      alerts.push_back({rules[k].sid, 2, drops ? 1u : 0u, p.source, p.destination,
                        static_cast<std::uint64_t>(p.source_port),
                        static_cast<std::uint64_t>(p.destination_port),
                        static_cast<std::uint64_t>(p.protocol)});
    }
    counts.dropped += is_dropped;
    return !is_dropped;
  }
};

payload_view::kind kind_of(kind k) {
  switch (k) {
    case kind::not_ipv4: return payload_view::kind::not_ipv4;
    case kind::malformed: return payload_view::kind::malformed;
    case kind::fragment: return payload_view::kind::fragment;
    case kind::whole: break;
  }
  return payload_view::kind::whole;
}

/// What a thread of this CPU reads of the alerts, until the path is stopped.
struct alert_reader {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, alert_ring ring, std::uint32_t* stop,
                            std::vector<alert_words>* read) const {
    std::uint32_t quiet = 0;
    for (until wait{simt::within(std::uint64_t{20'000'000'000})}; wait;) {
      const bool is_last = system_word<std::uint32_t>(*stop).load(acquire) != 0;
      intrusion_alert a;
      if (ring.pop(a)) {
        read->push_back(words_of(a));
        quiet = 0;
      } else if (is_last) {
        return;
      } else {
        simt::pause(++quiet);
      }
    }
  }
};

std::string difference_of_counts(const intrusion_counts& a, const intrusion_counts& b) {
  const auto all = [](const intrusion_counts& c) {
    return std::array{c.inspected,    c.not_ipv4, c.malformed, c.fragments,
                      c.with_options, c.passed,   c.dropped};
  };
  for (std::size_t k = 0; k < all(a).size(); ++k)
    if (all(a)[k] != all(b)[k])
      return "count " + std::to_string(k) + " is " + std::to_string(all(a)[k]) + ", not " +
             std::to_string(all(b)[k]);
  return {};
}

struct detection_shape {
  int frames = 40;
  std::uint32_t rules = 12;
  std::uint32_t alerts = 4096;
  bool reads = true;  ///< alerts, while kernels run
  bool drops_uninspected = false;
};

/// Rules and frames of a seed through a rig. What is not as the reference has it, or nothing.
/// @param lost alerts, added
template <class Model>
std::string detect(simt::host::options chosen, const detection_shape& shape, std::uint64_t& lost) {
  drawn_intrusion draw(chosen.seed);
  const std::vector<reference_rule> rules = draw.rules(shape.rules);
  std::string text;
  for (const reference_rule& r : rules) text += r.text();
  scripted_line lines[2];
  for (int k = 0; k < shape.frames; ++k) lines[0].coming.push_back(draw.frame());
  const expectation expected(rules, shape.drops_uninspected, lines[0].coming);
  gnstor::host::intrusion_detection own(
      gnstor::host::rule_set::parse(text, "drawn"),
      {.lanes = 8, .alerts = shape.alerts, .drops_uninspected = shape.drops_uninspected});
  packet_rig_shape path;
  path.frames = 0;
  rig_of<Model> rig(path);
  std::vector<alert_words> read;
  const std::string fault =
      run_script(rig, chosen, own.detector(), lines, [&](simt::host::executor& machine) {
        if (!shape.reads) return;
        machine.spawn_in(simt::domain::cpu, 1, 1, alert_reader{}, own.detector().alerts,
                         rig.control().stop, &read);
      });
  if (!fault.empty()) return fault;
  for (intrusion_alert a; own.next(a);) read.push_back(words_of(a));
  lost += own.lost();
  std::string other = difference(lines[1].gone, expected.forwarded);
  if (other.empty()) other = difference_of_counts(own.counts(), expected.counts);
  if (!other.empty()) return other;
  if (own.matches() != expected.matches) return "rules were matched at another number of packets";
  if (read.size() + own.lost() != expected.alerts.size())
    return std::to_string(read.size()) + " alerts read and " + std::to_string(own.lost()) +
           " lost of " + std::to_string(expected.alerts.size());
  std::ranges::sort(read);
  if (!std::ranges::includes(expected.alerts, read)) return "an alert that there was no cause for";
  return {};
}

template <class Model>
std::string detect_all(simt::host::options chosen, const detection_shape& shape) {
  std::uint64_t lost = 0;
  const std::string fault = detect<Model>(chosen, shape, lost);
  return fault.empty() && lost != 0 ? "alerts were lost" : fault;
}

}  // namespace

TEST_CASE("a detector finds what a serial search of each rule finds") {
  for (std::uint64_t seed = 1; seed <= (under_tsan ? 2u : 20u); ++seed) {
    CAPTURE(seed);
    CHECK(detect_all<fw::nic_82599>({.seed = seed}, {.frames = 300}) == "");
    CHECK(detect_all<fw::nic_82574>({.seed = seed},
                                    {.frames = 300, .rules = 60, .drops_uninspected = true}) == "");
  }
}

TEST_CASE("seeded: every schedule detects the same") {
  sweep(simt::host::mode::seeded, 60,
        [](simt::host::options o) { return detect_all<fw::nic_82599>(o, {}); });
}

TEST_CASE("weak: no load of an older word hides an alert or makes one") {
  sweep(simt::host::mode::weak, 60,
        [](simt::host::options o) { return detect_all<fw::nic_82574>(o, {}); });
}

TEST_CASE("a ring that is full loses alerts, and says how many") {
  std::uint64_t lost = 0;
  CHECK(detect<fw::nic_82599>({.seed = 3}, {.frames = 300, .alerts = 4, .reads = false}, lost) ==
        "");
  CHECK(lost > 20);
}

TEST_CASE("seeded: a reader that is slower than its ring reads each alert that is not lost") {
  std::uint64_t lost = 0;
  sweep(simt::host::mode::seeded, 40,
        [&](simt::host::options o) { return detect<fw::nic_82599>(o, {.alerts = 2}, lost); });
  CHECK(lost > 0);
}

TEST_CASE("weak: a reader that is slower than its ring reads each alert that is not lost") {
  std::uint64_t lost = 0;
  sweep(simt::host::mode::weak, 40,
        [&](simt::host::options o) { return detect<fw::nic_82574>(o, {.alerts = 2}, lost); });
  CHECK(lost > 0);
}

TEST_CASE("an alert ring goes round, and is as long as it says") {
  std::vector<alert_ring::slot> slots(4);
  alert_ring::words control{};
  const alert_ring ring(slots.data(), &control, 4);
  intrusion_alert a{};
  for (std::uint32_t k = 0; k < 100; ++k) {
    CHECK_FALSE(ring.pop(a));
    for (std::uint32_t n = 0; n < 6; ++n) CHECK(ring.push({k, n, 0, 0, {}}) == (n < 4));
    for (std::uint32_t n = 0; n < 4; ++n) {
      REQUIRE(ring.pop(a));
      CHECK(a.rule == k);
      CHECK(a.sid == n);
    }
    CHECK(ring.lost() == 2 * (k + 1));
  }
}

TEST_CASE("every truncation of a frame is what a reference says, and nothing beyond it is read") {
  drawn_intrusion draw(5);
  for (int n = 0; n < 200; ++n) {
    const frame_bytes whole = draw.frame();
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
      // Memory that ends where the frame does, so that a sanitizer sees who reads beyond.
      const std::unique_ptr<unsigned char[]> cut(new unsigned char[bytes]);
      std::copy_n(whole.begin(), bytes, cut.get());
      const payload_view v = payload_view::of(cut.get(), static_cast<std::uint32_t>(bytes));
      const reference_packet r(frame_bytes(cut.get(), cut.get() + bytes));
      REQUIRE(static_cast<int>(v.what) == static_cast<int>(kind_of(r.what)));
      if (r.what != kind::whole) continue;
      REQUIRE(std::string(reinterpret_cast<const char*>(v.bytes), v.length) == r.payload);
      REQUIRE(v.bytes + v.length <= cut.get() + bytes);
    }
  }
}

TEST_CASE("a detector of one flow has no memory of an earlier one's packets") {
  const auto set = gnstor::host::rule_set::parse("alert ip any any -> any any (sid:1;)", "r");
  gnstor::host::intrusion_detection own(set, {.lanes = 8});
  drawn_intrusion draw(9);
  frame_bytes f = draw.frame();
  while (reference_packet(f).what != kind::whole) f = draw.frame();
  for (std::uint64_t flow = 1; flow <= 3; ++flow) {
    scripted_line lines[2];
    lines[0].coming.assign(10, f);
    packet_rig_shape path;
    path.frames = 0;
    rig_of<fw::nic_82599> rig(path);
    CHECK(run_script(rig, {}, own.detector(), lines) == "");
    CHECK(own.matches().front() == 10 * flow);
  }
}

TEST_CASE("numbers that a detector cannot have are refused") {
  const auto set = gnstor::host::rule_set::parse("alert ip any any -> any any (sid:1;)", "r");
  using gnstor::host::intrusion_detection;
  CHECK_THROWS_WITH_AS((intrusion_detection(set, {.alerts = 3})),
                       doctest::Contains("a power of two"), gnstor::host::input_error);
  CHECK_THROWS_AS((intrusion_detection(set, {.lanes = 0})), gnstor::host::input_error);
}

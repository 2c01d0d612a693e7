#include "packet_report.hpp"

#include "short_number.hpp"
#include <gnstor/wire/ethernet/frame_limits.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gnstor::tools {
namespace {

using cause = packet_cause;

/// Frames and their bytes, each way.
struct direction {
  const char* name;
  std::uint64_t frames;
  std::uint64_t bytes;
};

direction received(const packet_result& r) {
  return {"received", r.count(cause::received), r.count(cause::received_bytes)};
}
direction sent(const packet_result& r) {
  return {"sent", r.count(cause::sent), r.count(cause::sent_bytes)};
}
/// Of the wire, which a frame takes for more than its bytes.
double wire_gbits(const direction& d, double seconds) {
  const std::uint64_t bytes = d.bytes + d.frames * wire::ethernet::wire_overhead_bytes;
  return static_cast<double>(bytes) * 8 / 1e9 / seconds;
}
std::string rate_text(const direction& d, double seconds) {
  return fmt::format("{}: {} frames/s, {:.3g} Gbit/s", d.name,
                     short_number(static_cast<double>(d.frames) / seconds), wire_gbits(d, seconds));
}
/// What is no frame that went its way.
bool is_trouble(cause c) {
  switch (c) {
    case cause::received:
    case cause::made:
    case cause::received_bytes:
    case cause::sent:
    case cause::sent_bytes: return false;
    default: return true;
  }
}

}  // namespace

std::string packets_text(const packet_options& o, const packet_result& r) {
  std::string text = fmt::format("{}: {}\n", o.what, o.full_endpoint());
  for (const std::string& note : r.notes) text += fmt::format("  {}\n", note);
  for (const direction& d : {received(r), sent(r)}) {
    if (d.frames == 0) continue;
    text += fmt::format("  {} of the wire; {} frames, {} bytes in {:.2f} s\n",
                        rate_text(d, r.seconds()), d.frames, d.bytes, r.seconds());
  }
  if (r.transits.total() != 0) {
    text += "  from wire to wire, percentiles (usec):";
    for (const double share : {0.5, 0.9, 0.99, 0.999}) {
      text += fmt::format(" {:g}th={:.2f}", share * 100,
                          static_cast<double>(r.transits.percentile(share)) / 1e3);
    }
    text += "\n";
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(cause::count); ++c) {
    const auto what = static_cast<cause>(c);
    // What a sink has compared it drops.
    if (!is_trouble(what) || r.count(what) == 0 || (what == cause::dropped && r.sound != 0))
      continue;
    text += fmt::format("  {}: {}\n", name_of(what), r.count(what));
  }
  if (r.sound + r.unsound + r.foreign != 0) {
    text += fmt::format(
        "  numbered frames: {} sound, {} changed, {} missing, {} reordered; {} others\n", r.sound,
        r.unsound, r.missing, r.reordered, r.foreign);
  }
  for (std::size_t port = 0; port < r.ports.size(); ++port) {
    const auto& rings = r.ports[port].queues;
    if (rings.size() < 2) continue;
    text += fmt::format("  port {}, ring pairs:", port);
    for (std::size_t q = 0; q < rings.size(); ++q) {
      const host::nic_queue_statistics& s = rings[q];
      text += fmt::format("{} {}: {} received, {} sent", q == 0 ? "" : ";", q, s.delivered, s.sent);
      if (s.missed != 0) text += fmt::format(", {} missed", s.missed);
    }
    text += "\n";
  }
  if (!r.wrong.empty()) return text + fmt::format("  WRONG: {}\n", r.wrong);
  return text + (r.is_checked ? "  each frame was compared: right\n"
                              : "  what came out was not compared\n");
}

std::string packets_live_text(const packet_result& now, const packet_result& before,
                              double seconds) {
  std::string text;
  const direction then[] = {received(before), sent(before)};
  std::size_t k = 0;
  for (direction d : {received(now), sent(now)}) {
    d.frames -= then[k].frames;
    d.bytes -= then[k].bytes;
    ++k;
    if (d.frames == 0) continue;
    text += (text.empty() ? "" : "; ") + rate_text(d, seconds);
  }
  if (text.empty()) text = "no frame since a second";
  const std::uint64_t dropped = now.count(cause::bad_check_sequence) +
                                now.count(cause::bad_length) + now.count(cause::bad_checksum) +
                                now.count(cause::bad_other) + now.unsound;
  return dropped == 0 ? text : text + fmt::format("; {} bad ones so far", dropped);
}

std::string packets_json(const packet_options& o, const packet_result& r) {
  nlohmann::json counts;
  for (std::size_t c = 0; c < static_cast<std::size_t>(cause::count); ++c)
    counts[name_of(static_cast<cause>(c))] = r.counts.words[c];
  nlohmann::json rates;
  for (const direction& d : {received(r), sent(r)}) {
    rates[d.name] = {{"frames", d.frames},
                     {"bytes", d.bytes},
                     {"frames_per_second", static_cast<double>(d.frames) / r.seconds()},
                     {"wire_gbits_per_second", wire_gbits(d, r.seconds())}};
  }
  nlohmann::json transits = {{"N", r.transits.total()}};
  for (const double share : {0.5, 0.9, 0.99, 0.999, 0.9999})
    transits["percentile"][fmt::format("{:.6f}", share * 100)] = r.transits.percentile(share);
  nlohmann::json rings = nlohmann::json::array();
  for (const host::nic_statistics& port : r.ports) {
    if (port.queues.size() < 2) continue;
    nlohmann::json pairs = nlohmann::json::array();
    for (const host::nic_queue_statistics& s : port.queues)
      pairs.push_back({{"received", s.delivered}, {"missed", s.missed}, {"sent", s.sent}});
    rings.push_back(pairs);
  }
  const nlohmann::json all = {{"program", "gnstor-perf packets"},
                              {"do", o.what},
                              {"endpoint", o.full_endpoint()},
                              {"depth", o.depth},
                              {"turn", o.turn},
                              {"buffers", o.buffers},
                              {"buffer_bytes", o.used_buffer_bytes()},
                              {"seconds", r.seconds()},
                              {"notes", r.notes},
                              {"rates", rates},
                              {"counts", counts},
                              {"rings", rings},
                              {"transit_ns", transits},
                              {"numbered",
                               {{"sound", r.sound},
                                {"changed", r.unsound},
                                {"missing", r.missing},
                                {"reordered", r.reordered},
                                {"others", r.foreign}}},
                              {"checked", r.is_checked},
                              {"wrong", r.wrong}};
  return all.dump(2) + "\n";
}

}  // namespace gnstor::tools

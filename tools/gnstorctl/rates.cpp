#include "rates.hpp"

#include "print.hpp"

#include <utility>

namespace gnstor::tools {
namespace {

/// A counter since it was `before`. Whoever counts may have been started again since.
std::uint64_t more(std::uint64_t now, std::uint64_t before) {
  return now >= before ? now - before : now;
}

v1::Traffic difference(const v1::Traffic& now, const v1::Traffic& before) {
  v1::Traffic d = now;
  d.set_reads(more(now.reads(), before.reads()));
  d.set_writes(more(now.writes(), before.writes()));
  d.set_read_bytes(more(now.read_bytes(), before.read_bytes()));
  d.set_written_bytes(more(now.written_bytes(), before.written_bytes()));
  d.set_errors(more(now.errors(), before.errors()));
  d.set_latency_ns(more(now.latency_ns(), before.latency_ns()));
  for (int k = 0; k < now.latencies_size() && k < before.latencies_size(); ++k)
    d.set_latencies(k, more(now.latencies(k), before.latencies(k)));
  return d;
}

}  // namespace

double rates::since(clock::time_point when) {
  const auto before = std::exchange(before_, when);
  return before ? std::chrono::duration<double>(when - *before).count() : 0;
}

std::string rates::traffic_text(const v1::TrafficList& now, clock::time_point when) {
  const double seconds = since(when);
  const v1::TrafficList before = std::exchange(traffic_, now);
  if (seconds <= 0) return tools::traffic_text(now);
  v1::TrafficList changed;
  for (const v1::Traffic& t : now.volumes()) {
    v1::Traffic d = t;
    for (const v1::Traffic& b : before.volumes())
      if (b.volume() == t.volume()) d = difference(t, b);
    *changed.add_volumes() = d;
  }
  return tools::traffic_text(changed, seconds);
}

std::string rates::array_text(const v1::Array& now, clock::time_point when) {
  const double seconds = since(when);
  const v1::Array before = std::exchange(array_, now);
  return seconds <= 0 ? tools::array_text(now) : tools::array_text(now, before, seconds);
}

}  // namespace gnstor::tools

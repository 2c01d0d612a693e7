#include "phase_metrics.hpp"

#include "metric_family.hpp"

#include <limits>
#include <utility>

namespace gnstor::serve {
namespace {

const char* name_of(request_phase p) {
  switch (p) {
    case request_phase::buffer: return "buffer";
    case request_phase::receiving: return "receiving";
    case request_phase::queued: return "queued";
    case request_phase::waiting: return "waiting";
    case request_phase::flash: return "flash";
    case request_phase::sending: return "sending";
  }
  return "";
}

}  // namespace

void add_phase_metrics(const phase_counts& of, std::vector<prometheus::MetricFamily>& to) {
  metric_family present("requests_in_phase", "Requests that are there now.");
  metric_family finished("requests_finished_total", "Requests that have ended.",
                         prometheus::MetricType::Counter);
  finished.add(static_cast<double>(of.finished(true)), {{"outcome", "ok"}});
  finished.add(static_cast<double>(of.finished(false)), {{"outcome", "error"}});
  prometheus::MetricFamily took;
  took.name = "gnstor_request_phase_seconds";
  took.help = "How long requests, or parts of them, were in a phase that they have left.";
  took.type = prometheus::MetricType::Histogram;
  for (std::size_t k = 0; k < request_phases; ++k) {
    const auto p = static_cast<request_phase>(k);
    const phase_counts::record r = of.of(p);
    const metric_labels label = {{"phase", name_of(p)}};
    present.add(static_cast<double>(r.present), label);
    prometheus::ClientMetric m;
    m.label = label;
    std::uint64_t below = 0;
    for (std::size_t n = 0; n < phase_counts::classes; ++n) {
      below += r.times[n];
      const bool last = n + 1 == phase_counts::classes;
      m.histogram.bucket.push_back(
          {below, last ? std::numeric_limits<double>::infinity()
                       : static_cast<double>(phase_counts::end_ns(n)) * 1e-9});
    }
    m.histogram.sample_count = below;
    m.histogram.sample_sum = static_cast<double>(r.took_ns) * 1e-9;
    took.metric.push_back(std::move(m));
  }
  to.push_back(present.take());
  to.push_back(finished.take());
  to.push_back(std::move(took));
}

}  // namespace gnstor::serve

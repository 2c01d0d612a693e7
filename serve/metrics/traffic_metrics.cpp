#include "traffic_metrics.hpp"

#include "metric_family.hpp"

#include <limits>
#include <string>
#include <utility>

namespace gnstor::serve {

void add_traffic_metrics(const std::vector<wire::afa::traffic_record>& all,
                         std::vector<prometheus::MetricFamily>& to) {
  const auto counter = [](const char* name, const char* help) {
    return metric_family(name, help, prometheus::MetricType::Counter);
  };
  metric_family reads = counter("volume_reads_total", "Reads of hosts that succeeded.");
  metric_family writes =
      counter("volume_writes_total", "Writes of hosts that succeeded, each replica.");
  metric_family read = counter("volume_read_bytes_total", "Bytes that they have read.");
  metric_family written = counter("volume_written_bytes_total", "Bytes that they have written.");
  metric_family errors = counter("volume_errors_total", "Commands of hosts that failed.");
  prometheus::MetricFamily latency;
  latency.name = "gnstor_volume_latency_seconds";
  latency.help = "How long the target took for a host's command.";
  latency.type = prometheus::MetricType::Histogram;
  for (const wire::afa::traffic_record& t : all) {
    const metric_labels of = {{"volume", std::to_string(t.vid)}};
    reads.add(static_cast<double>(t.reads), of);
    writes.add(static_cast<double>(t.writes), of);
    read.add(static_cast<double>(t.read_blocks) * bytes_of_block, of);
    written.add(static_cast<double>(t.written_blocks) * bytes_of_block, of);
    errors.add(static_cast<double>(t.errors), of);
    prometheus::ClientMetric m;
    m.label = of;
    std::uint64_t below = 0;
    for (std::uint32_t k = 0; k < wire::afa::latency_classes; ++k) {
      below += t.latencies[k];
      const bool last = k + 1 == wire::afa::latency_classes;
      m.histogram.bucket.push_back(
          {below, last ? std::numeric_limits<double>::infinity()
                       : static_cast<double>(std::uint64_t{1} << k) * 1e-6});
    }
    m.histogram.sample_count = below;
    m.histogram.sample_sum = static_cast<double>(t.latency_ns) * 1e-9;
    latency.metric.push_back(std::move(m));
  }
  for (metric_family* f : {&reads, &writes, &read, &written, &errors}) to.push_back(f->take());
  to.push_back(std::move(latency));
}

}  // namespace gnstor::serve

#include "homi_metrics.hpp"

#include "metric_family.hpp"
#include <serve/product.hpp>

namespace gnstor::serve {
namespace {

constexpr auto counter = prometheus::MetricType::Counter;

double number(const wire::nvme::wide_count& n) {
  return static_cast<double>(n.high) * 18446744073709551616.0 + static_cast<double>(n.low);
}

void add_clients(const orchestrator_state& s, std::vector<prometheus::MetricFamily>& all) {
  metric_family queues("homi_client_queues", "I/O queues that a process has.");
  metric_family bytes("homi_client_memory_bytes", "Memory that a process shares.");
  for (const orchestrator_state::client& c : s.clients) {
    const metric_labels who = {{"program", c.program}, {"process", std::to_string(c.process)}};
    queues.add(c.queues, who);
    bytes.add(static_cast<double>(c.bytes), who);
  }
  all.push_back(queues.take());
  all.push_back(bytes.take());
  all.push_back(metric_family("homi_queues", "I/O queues of the controller.")
                    .add(s.lent_queues, {{"state", "lent"}})
                    .add(s.idle_queues, {{"state", "idle"}})
                    .add(s.lost_queues, {{"state", "lost"}})
                    .take());
  all.push_back(metric_family("homi_processes_total", "Processes that were given queues.", counter)
                    .add(static_cast<double>(s.served))
                    .take());
  all.push_back(metric_family("homi_refusals_total", "Requests that were refused.", counter)
                    .add(static_cast<double>(s.refused))
                    .take());
}

void add_health(const orchestrator_state& s, std::vector<prometheus::MetricFamily>& all) {
  const metric_labels which = {{"controller", s.controller}};
  const auto add = [&](const char* name, const char* help, double value,
                       prometheus::MetricType type = prometheus::MetricType::Gauge) {
    all.push_back(metric_family(name, help, type).add(value, which).take());
  };
  add("nvme_answers", "0: the controller does not say how it is.", s.health ? 1 : 0);
  add("nvme_events_total", "Events that the controller has reported.",
      static_cast<double>(s.events), counter);
  if (!s.health) return;
  const wire::nvme::health_log& h = *s.health;
  constexpr double zero_celsius = 273.15;
  constexpr double data_unit = 512'000;
  add("nvme_critical_warning", "Bits of NVMe's critical warning.", h.critical_warning);
  add("nvme_temperature_celsius", "Composite temperature.",
      h.temperature[0] + 256.0 * h.temperature[1] - zero_celsius);
  add("nvme_spare_percent", "Spare that is left.", h.spare_percent);
  add("nvme_used_percent", "Life that is used, by the vendor's estimate.", h.used_percent);
  add("nvme_read_bytes_total", "Bytes read by hosts.", number(h.data_units_read) * data_unit,
      counter);
  add("nvme_written_bytes_total", "Bytes written by hosts.",
      number(h.data_units_written) * data_unit, counter);
  add("nvme_reads_total", "Read commands.", number(h.host_reads), counter);
  add("nvme_writes_total", "Write commands.", number(h.host_writes), counter);
  add("nvme_power_on_hours_total", "Hours with power.", number(h.power_on_hours), counter);
  add("nvme_unsafe_shutdowns_total", "Power lost without notice.", number(h.unsafe_shutdowns),
      counter);
  add("nvme_media_errors_total", "Errors of the medium that were not corrected.",
      number(h.media_errors), counter);
  add("nvme_error_log_entries_total", "Entries of the error log.", number(h.error_log_entries),
      counter);
}

}  // namespace

std::vector<prometheus::MetricFamily> homi_metrics::Collect() const {
  const orchestrator_state s = of_->state();
  std::vector<prometheus::MetricFamily> all;
  all.push_back(metric_family("build_info", "The version of gnstor-homid.")
                    .add(1, {{"version", std::string(product_version)}})
                    .take());
  add_clients(s, all);
  add_health(s, all);
  std::erase_if(all, [](const prometheus::MetricFamily& f) { return f.metric.empty(); });
  return all;
}

}  // namespace gnstor::serve

#if defined(GNSTOR_WITH_METRICS)

#include "nbd_metrics.hpp"

#include <gnstor/host/error.hpp>
#include <serve/metrics/metric_family.hpp>
#include <serve/metrics/phase_metrics.hpp>
#include <serve/metrics/traffic_metrics.hpp>
#include <serve/product.hpp>

namespace gnstor::serve {

std::vector<prometheus::MetricFamily> nbd_metrics::Collect() const {
  std::vector<prometheus::MetricFamily> all;
  all.push_back(metric_family("build_info", "The version of the plugin.")
                    .add(1, {{"version", std::string(product_version)}})
                    .take());
  bool serves = true;
  try {
    array_->check();
  } catch (const host::error&) {
    serves = false;
  }
  all.push_back(
      metric_family("array_serves", "0: the array serves nothing any more.").add(serves).take());
  add_traffic_metrics(array_->traffic().all(), all);
  add_phase_metrics(array_->phases(), all);
  std::erase_if(all, [](const prometheus::MetricFamily& f) { return f.metric.empty(); });
  return all;
}

}  // namespace gnstor::serve

#endif

#pragma once

#include <gnstor/core/units.hpp>

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

namespace gnstor::serve {

/// What distinguishes the values of a family.
using metric_labels = std::vector<prometheus::ClientMetric::Label>;

inline constexpr double bytes_of_block = block_bytes;

/// A family of one kind of number, to which values are added; its name begins with `gnstor_`.
class metric_family {
 public:
  metric_family(std::string name, std::string help,
                prometheus::MetricType type = prometheus::MetricType::Gauge) {
    it_.name = "gnstor_" + std::move(name);
    it_.help = std::move(help);
    it_.type = type;
  }
  metric_family& add(double value, metric_labels of = {}) {
    prometheus::ClientMetric m;
    m.label = std::move(of);
    (it_.type == prometheus::MetricType::Counter ? m.counter.value : m.gauge.value) = value;
    it_.metric.push_back(std::move(m));
    return *this;
  }
  prometheus::MetricFamily take() { return std::move(it_); }

 private:
  prometheus::MetricFamily it_;
};

}  // namespace gnstor::serve

#pragma once
/// What hosts have done with volumes, as Prometheus counts it.

#include <gnstor/wire/afa/traffic_list.hpp>

#include <prometheus/metric_family.h>

#include <vector>

namespace gnstor::serve {

/// Adds what hosts have done with each volume, as Prometheus counts it.
void add_traffic_metrics(const std::vector<wire::afa::traffic_record>& all,
                         std::vector<prometheus::MetricFamily>& to);

}  // namespace gnstor::serve

#pragma once
/// The phases of a block server's requests, as Prometheus counts them.

#include <serve/block/phase_counts.hpp>

#include <prometheus/metric_family.h>

#include <vector>

namespace gnstor::serve {

/// Adds families of where a block server's requests are, and how long they were there.
void add_phase_metrics(const phase_counts& of, std::vector<prometheus::MetricFamily>& to);

}  // namespace gnstor::serve

#pragma once

#include <serve/control/call_counts.hpp>
#include <serve/control/manager_holder.hpp>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

namespace gnstor::serve {

/// What an array's manager knows, as Prometheus counts it: names begin with `gnstor_`, sizes are in
/// bytes and times in seconds. Any thread may collect.
class array_metrics final : public prometheus::Collectable {
 public:
  /// @param manager who knows the array; it outlives this, @param calls likewise
  array_metrics(const manager_holder& manager, const call_counts& calls)
      : manager_(&manager), calls_(&calls) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const manager_holder* manager_;
  const call_counts* calls_;
};

}  // namespace gnstor::serve

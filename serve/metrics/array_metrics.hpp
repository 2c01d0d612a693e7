#pragma once

#include <serve/control/call_counts.hpp>

#include <control/array_manager.hpp>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

namespace gnstor::serve {

/// What an array's manager knows, as Prometheus counts it: names begin with `gnstor_`, sizes are in
/// bytes and times in seconds. Any thread may collect.
class array_metrics final : public prometheus::Collectable {
 public:
  /// @param manager outlives this, @param calls likewise
  array_metrics(const host::array_manager& manager, const call_counts& calls)
      : manager_(&manager), calls_(&calls) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const host::array_manager* manager_;
  const call_counts* calls_;
};

}  // namespace gnstor::serve

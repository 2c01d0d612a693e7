#pragma once

#include <serve/block/phase_counts.hpp>
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
  /// @param phases of this process's target, likewise; null: there is none
  array_metrics(const manager_holder& manager, const call_counts& calls,
                const phase_counts* phases = nullptr)
      : manager_(&manager), calls_(&calls), phases_(phases) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const manager_holder* manager_;
  const call_counts* calls_;
  const phase_counts* phases_;
};

}  // namespace gnstor::serve

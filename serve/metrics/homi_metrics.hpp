#pragma once

#include <serve/homi/orchestrator.hpp>

#include <prometheus/collectable.h>

namespace gnstor::serve {

/// What gnstor-homid has to say to Prometheus: who has which queues, and how the controller is.
class homi_metrics final : public prometheus::Collectable {
 public:
  /// @param of outlives this
  explicit homi_metrics(const orchestrator& of) : of_(&of) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const orchestrator* of_;
};

}  // namespace gnstor::serve

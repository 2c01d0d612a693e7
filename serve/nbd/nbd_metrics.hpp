#pragma once

#include <serve/block/block_array.hpp>

#include <prometheus/collectable.h>

namespace gnstor::serve {

/// What clients of exports do, as Prometheus counts it. Any thread may collect.
class nbd_metrics final : public prometheus::Collectable {
 public:
  /// @param array outlives this
  explicit nbd_metrics(block_array& array) : array_(&array) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  block_array* array_;
};

}  // namespace gnstor::serve

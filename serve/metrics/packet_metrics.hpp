#pragma once

#include <gnstor/host/nic_statistics.hpp>
#include <gnstor/packet/packet_counters.hpp>

#include <prometheus/collectable.h>

#include <mutex>
#include <vector>

namespace gnstor::serve {

/// What a program whose kernels have packets says to Prometheus: frames of its flows by cause, and
/// what each port of its NIC has counted. @par Callers any thread
class packet_metrics final : public prometheus::Collectable {
 public:
  /// What was counted by now: said again and again, by whoever runs the flows.
  void note(const packet_counters& of_flows, std::vector<host::nic_statistics> ports);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable std::mutex guard_;  ///< of what follows
  packet_counters flows_{};
  std::vector<host::nic_statistics> ports_;
};

}  // namespace gnstor::serve

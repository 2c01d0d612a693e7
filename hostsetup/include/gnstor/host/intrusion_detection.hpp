#pragma once

#include <gnstor/host/machine.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/rule_set.hpp>
#include <gnstor/packet/intrusion_detector.hpp>

#include <cstdint>
#include <vector>

namespace gnstor::host {

/// How packets are inspected.
struct intrusion_options {
  machine client = this_machine;   ///< where the kernels run
  int device = 0;                  ///< their GPU
  std::uint32_t lanes = 512;       ///< of the flow, at most: its `depth`
  std::uint32_t alerts = 4096;     ///< that wait for this CPU: a power of two
  bool drops_uninspected = false;  ///< malformed frames and fragments
};

/// The rules of an `intrusion_detector` where kernels reach them, and what it counts and reports.
/// Must outlive the kernels. Its detector is in one place of one flow at a time.
class intrusion_detection {
 public:
  /// Throws `input_error` for numbers that do not fit, `error` where there is not so much memory.
  explicit intrusion_detection(const rule_set& rules, const intrusion_options& options = {});

  /// The application, for `packet_flow::spawn`.
  intrusion_detector detector() const { return detector_; }

  /// The oldest alert that was not read yet, if there is one. While kernels run, too.
  /// @par Callers one thread at a time
  bool next(intrusion_alert& alert) const { return detector_.alerts.pop(alert); }
  /// Alerts that found `options.alerts` others waiting; their packets are in `matches` all the
  /// same.
  std::uint64_t lost() const { return detector_.alerts.lost(); }
  /// Frames by what became of them, when no kernel has the detector any more; like `matches`.
  intrusion_counts counts() const;
  /// Packets that matched each rule, in the order of the set.
  std::vector<std::uint64_t> matches() const;

 private:
  std::size_t rules_;
  memory_block own_;     ///< of the kernels: rules, counters, marks
  memory_block shared_;  ///< the ring of alerts
  std::size_t counts_at_ = 0;
  std::size_t matches_at_ = 0;
  intrusion_detector detector_;
};

}  // namespace gnstor::host

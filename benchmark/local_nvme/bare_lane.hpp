#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/qp/nvme_pcie_queue_pair.hpp>
#include <gnstor/simt/copy.hpp>

namespace gnstor::benchmarks {

/// The least that one lane needs to drive a local controller's queue: it writes an entry, the
/// doorbell, and looks at one completion until its phase changes. Nobody shares it, nothing times
/// out; what a queue pair and a channel cost is measured against it.
class bare_lane {
 public:
  using rings_type = nvme_pcie_queue_pair<>::rings_type;

  GNSTOR_HD explicit bare_lane(const rings_type& rings)
      : rings_(rings), sent_(rings.state().reserved), taken_(rings.state().consumed) {}

  /// Reads, and waits. False if the controller said anything but success.
  GNSTOR_HD bool read(const wire::nvme::submission_entry& command) {
    rings_.write_send(sent_, command);
    rings_.announce(++sent_, taken_);
    for (bounded looks{std::uint64_t{1} << 40}; looks;) {
      const std::uint32_t tail = rings_.tail(taken_);
      if (!rings_.is_valid(tail, taken_)) continue;
      ++taken_;
      return tail >> 17 == 0;
    }
    return false;
  }

  /// Lets a channel go on behind what was done.
  GNSTOR_HD void give_back() const {
    nvme_pcie_queue_state& s = rings_.state();
    rings_.announce(sent_, taken_);
    s.reserved = s.published = s.retired = sent_;
    s.consumed = taken_;
  }

 private:
  rings_type rings_;
  std::uint64_t sent_;
  std::uint64_t taken_;
};

}  // namespace gnstor::benchmarks

#pragma once

#include "emulated_client.hpp"

#include <control/array_front_end.hpp>

#include <functional>
#include <utility>

namespace gnstor::host {

/// What stands before the SSDs of an array of this process.
class emulated_front_end final : public array_front_end {
 public:
  /// What a target in this process knows of its hosts; nothing: there is none.
  struct target {
    std::function<connected()> hosts;
    std::function<std::vector<wire::afa::traffic_record>()> traffic;
  };

  /// @param of the manager's association, which outlives this
  explicit emulated_front_end(emulated_client& of, target served_by = {})
      : of_(&of), target_(std::move(served_by)) {}

  void detach(std::uint32_t ssd, bool detached, std::uint64_t) override {
    of_->detach(ssd, detached);
  }
  connected hosts() override { return target_.hosts ? target_.hosts() : of_->hosts(); }
  std::vector<wire::afa::traffic_record> traffic() override {
    return target_.traffic ? target_.traffic() : std::vector<wire::afa::traffic_record>{};
  }

 private:
  emulated_client* of_;
  target target_;
};

}  // namespace gnstor::host

#pragma once

#include "emulated_client.hpp"

#include <control/array_front_end.hpp>

#include <functional>
#include <utility>

namespace gnstor::host {

/// What stands before the SSDs of an array of this process.
class emulated_front_end final : public array_front_end {
 public:
  using list_hosts = std::function<connected()>;

  /// @param of the manager's association, which outlives this
  /// @param hosts says who is connected; nothing: nobody can be
  explicit emulated_front_end(emulated_client& of, list_hosts hosts = {})
      : of_(&of), hosts_(std::move(hosts)) {}

  void detach(std::uint32_t ssd, bool detached, std::uint64_t) override {
    of_->detach(ssd, detached);
  }
  connected hosts() override { return hosts_ ? hosts_() : connected{}; }

 private:
  emulated_client* of_;
  list_hosts hosts_;
};

}  // namespace gnstor::host

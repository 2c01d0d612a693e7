#pragma once

#include <gnstor/channel/mlx5_channel.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

/// One command and how it ended.
struct courier_request {
  wire::nvme::submission_entry command{};
  status outcome{};
  std::uint32_t value = 0;
};

/// One lane that sends commands by one channel, one after another, each after the former's answer.
struct courier {
  struct shared {};

  const mlx5_channel* channel = nullptr;
  courier_request* requests = nullptr;
  std::uint32_t count = 0;

  template <class Lane>
  GNSTOR_HD void operator()(Lane&) const {
    for (std::uint32_t k = 0; k < count; ++k) {
      courier_request& e = requests[k];
      e.outcome = channel->execute(e.command, deadline::never(), &e.value);
    }
  }
};

}  // namespace gnstor::test

#pragma once

#include "proxy/proxy_task.hpp"
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

/// The proxy thread as lanes of the host runtime: a lane ticks one engine until it is asked to
/// stop.
struct proxy_lane {
  gnstor::host::proxy_task* const* engines = nullptr;
  std::uint32_t* stop = nullptr;

  template <class Lane>
  void operator()(Lane& lane) const {
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      if (system_word<std::uint32_t>(*stop).load(acquire) != 0) return;
      if (!engines[lane.global_thread()]->tick()) lane.pause();
    }
  }
};

}  // namespace gnstor::test

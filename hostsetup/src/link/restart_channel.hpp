#pragma once

#include "array_link.hpp"
#include <gnstor/channel/channel_restart.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::host {

/// The part of a channel's reset that its lanes' device does, by steps: `channel_restart`.
enum class restart_step : std::uint32_t {
  bar,
  settle,
  connect,
  open,  ///< instead of `connect`, where nobody has to accept the channel
};

/// What a step does, for messages.
inline const char* to_text(restart_step step) {
  switch (step) {
    case restart_step::bar: return "waiting for lanes that are sending";
    case restart_step::settle: return "waiting for lanes that are polling";
    case restart_step::connect: return "connecting it again";
    case restart_step::open: return "opening it again";
  }
  return "";
}

/// One step for one channel, and a word for what became of it.
struct restart_request {
  const remote_channel* channel = nullptr;  ///< null: nothing is done
  restart_step step = restart_step::bar;
  connect_options options;
  std::uint64_t timeout_ns = 0;
  std::uint64_t* outcome = nullptr;  ///< `status::pack()`
};

/// A kernel of one lane that does it.
struct restart_channel {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, restart_request e) const {
    if (lane.global_thread() != 0 || e.channel == nullptr) return;
    const channel_restart<remote_channel> channel(*e.channel);
    const deadline d = simt::within(e.timeout_ns);
    status s;
    switch (e.step) {
      case restart_step::bar: s = channel.bar(d); break;
      case restart_step::settle: s = channel.settle(d); break;
      case restart_step::connect: s = channel.connect(e.options, d); break;
      case restart_step::open: s = channel.open(); break;
    }
    *e.outcome = s.pack();
  }
};

/// Runs `restart_channel` on GPU `device`, beside what runs there. A request without a channel
/// loads the kernel: one that is loaded later waits for every kernel that runs. Throws `error` in a
/// build without CUDA.
void restart_on_gpu(const restart_request& request, int device);

}  // namespace gnstor::host

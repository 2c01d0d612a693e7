#pragma once

#include "memory_link.hpp"
#include "restart_channel.hpp"
#include <gnstor/channel/memory_channel_restart.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::host {

/// The word by which an emulated NIC is asked to drain a queue pair, and what it may be.
struct nic_life {
  std::uint32_t* word = nullptr;
  std::uint32_t draining = 0;
  std::uint32_t drained = 0;
  std::uint32_t serving = 0;
};

/// One step of a memory channel's reset, and a word for what became of it. `restart_step::open`
/// opens the channel.
struct memory_restart_request {
  const remote_memory_channel* channel = nullptr;
  restart_step step = restart_step::bar;
  nic_life life;  ///< of an emulated NIC that runs beside this alone, if its word is there: then
                  ///< all steps, and the NIC's in between
  std::uint64_t timeout_ns = 0;
  std::uint64_t* outcome = nullptr;  ///< `status::pack()`
};

/// A kernel of one lane that does it.
struct restart_memory {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, memory_restart_request e) const {
    if (lane.global_thread() != 0) return;
    const memory_channel_restart<remote_memory_channel> channel(*e.channel);
    const deadline d = simt::within(e.timeout_ns);
    status s;
    if (e.life.word != nullptr) {
      s = all(channel, e.life, d);
    } else {
      switch (e.step) {
        case restart_step::bar: s = channel.bar(d); break;
        case restart_step::settle: s = channel.settle(d); break;
        case restart_step::connect:
        case restart_step::open: s = channel.open(); break;
      }
    }
    *e.outcome = s.pack();
  }

 private:
  GNSTOR_HD static status all(const memory_channel_restart<remote_memory_channel>& channel,
                              const nic_life& nic, deadline d) {
    const system_word<std::uint32_t> life(*nic.word);
    const status barred = channel.bar(d);
    if (!barred.ok()) return barred;
    life.store(nic.draining, release);
    bool empty = false;
    // Paired with the release of the NIC's engine.
    for (until more{d}; !empty && more;) empty = life.load(acquire) == nic.drained;
    if (!empty) return status::make(status_code::timed_out, reporter::nic);
    const status settled = channel.settle(d);
    if (!settled.ok()) return settled;
    life.store(nic.serving, release);
    return channel.open();
  }
};

/// Runs `restart_memory` on GPU `device`, beside what `link` needs. Throws `error` in a build
/// without CUDA.
void restart_memory_on_gpu(const memory_restart_request& request, int device, memory_link& link);

}  // namespace gnstor::host

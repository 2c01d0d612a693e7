#pragma once
/// A target whose array has a manager in the same process.

#include "emulated_rig.hpp"
#include <gnstor/host/volume_text.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace gnstor::test {

inline host::manager_settings quick(std::chrono::milliseconds lease = std::chrono::seconds(300)) {
  return {.lease = lease,
          .ssd_timeout = std::chrono::seconds(2),  // however busy this machine is
          .look_every = std::chrono::milliseconds(20)};
}

/// A managed array whose volume "a" a plain host may use.
struct managed_rig {
  explicit managed_rig(const host::manager_settings& settings = quick(),
                       std::uint64_t bytes = 1 << 20)
      : array(host::endpoint::parse("emu:?ssds=4&capacity=16M"), answer_timeout_ns,
              {.here = settings}) {
    host::new_volume wanted;
    wanted.name = host::volume_name("a");
    wanted.capacity_blocks = bytes / block_bytes;
    vid = array.manager()->create(wanted).record.vid;
    volume = std::make_unique<serve::array_volume>(array, record());
  }
  wire::afa::volume_record record() { return array.manager()->find(vid).record; }
  std::uint16_t rights(client_id who) {
    const wire::afa::volume_record r = record();
    for (std::uint32_t k = 0; k < r.client_count; ++k)
      if (r.clients[k].client == who.value) return r.clients[k].rights;
    return 0;
  }
  client_id writer() { return array.manager()->find(vid).writer; }
  bool comes_to(std::uint32_t ssd, host::ssd_standing standing) {
    return comes([&] {
      const host::array_state a = array.manager()->state();
      return a.settled && a.ssds[ssd].standing == standing;
    });
  }
  template <class Condition>
  static bool comes(const Condition& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < until) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  serve::emulated_gateway array;
  std::uint16_t vid = 0;
  std::unique_ptr<serve::array_volume> volume;
};

inline const std::string guest = "nqn.2026-11.io.gnstor:host:guest";

}  // namespace gnstor::test

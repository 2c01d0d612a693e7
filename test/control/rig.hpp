#pragma once
/// An emulated array with a manager and clients in this process.

#include <emulated/emulated_front_end.hpp>
#include <gnstor/host/volume_text.hpp>

#include <control/array_client.hpp>
#include <control/array_manager.hpp>
#include <control/in_epochs.hpp>
#include <doctest/doctest.h>
#include <host/random_bytes.hpp>
#include <host/shared_sessions.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gnstor::test {

using host::control_reason;

/// A host that reads and writes what the manager has opened for it.
struct managed_client {
  managed_client(const shared_sessions& shared, const std::string& name)
      : link(shared.link(name)), io(*link, 5'000'000'000) {}

  client_id id() const { return link->client(); }
  /// How this client addresses a volume in the present epoch.
  volume_info describe(const wire::afa::volume_record& r) {
    const wire::afa::array_description said = io.describe();
    volume_info v;
    v.vid = volume_id(r.vid);
    v.client = id();
    v.epoch = said.epoch;
    v.hash_factor = r.hash_factor;
    v.capacity_blocks = r.capacity_blocks;
    v.stripe_blocks = r.stripe_blocks;
    v.replicas = r.replicas;
    v.ssd_count = r.ssd_count;
    v.max_transfer_blocks = said.max_transfer_blocks;
    v.writable = true;
    v.set_membership(said.absent, said.filling, said.others());
    return v;
  }
  status write(const wire::afa::volume_record& r, const std::vector<unsigned char>& bytes) {
    return io.write(describe(r), 0, std::as_bytes(std::span(bytes)));
  }
  bool holds(const wire::afa::volume_record& r, const std::vector<unsigned char>& bytes) {
    std::vector<unsigned char> found(bytes.size());
    return io.read(describe(r), 0, std::as_writable_bytes(std::span(found))).ok() && found == bytes;
  }

  /// An operation that may meet a change of the epoch: again in the next one.
  status in_any_epoch(const std::function<status()>& operation) {
    std::uint32_t epoch = 0;
    const auto learn = [&] { epoch = io.describe().epoch; };
    const auto in_it = [&] {
      learn();  // before: the array may go on while the operation does
      return operation();
    };
    return host::in_epochs(
        std::chrono::seconds(20), [&] { return epoch; }, in_it, learn);
  }

  std::unique_ptr<host::emulated_client> link;
  host::array_client io;
};

/// The array; its manager may end, and another one take over.
struct managed_array {
  explicit managed_array(const std::string& endpoint = "emu:?ssds=4&capacity=16M&runner=cpu",
                         std::uint32_t hosts = 8)
      : shared(endpoint, hosts) {
    start();
  }
  ~managed_array() { stop(); }

  void start() {
    auto link = shared.link("gnstor-manager", true);
    auto front_end = std::make_unique<host::emulated_front_end>(*link);
    manager =
        std::make_unique<host::array_manager>(std::move(link), std::move(front_end), settings);
  }
  void stop() { manager.reset(); }
  /// Waits until something holds of the array. False if it does not within 20 s.
  bool comes(const std::function<bool(const host::array_state&)>& true_of) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < until) {
      if (true_of(manager->state())) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  bool comes_to(std::uint32_t ssd, host::ssd_standing standing) const {
    return comes(
        [=](const host::array_state& a) { return a.settled && a.ssds[ssd].standing == standing; });
  }
  host::volume_state create(const std::string& name, std::uint64_t blocks = 256,
                            std::uint16_t replicas = 2) const {
    host::new_volume wanted;
    wanted.name = host::volume_name(name);
    wanted.capacity_blocks = blocks;
    wanted.replicas = replicas;
    return manager->create(wanted);
  }

  shared_sessions shared;
  // An SSD that is not dead answers, however busy this machine is.
  host::manager_settings settings{.ssd_timeout = std::chrono::seconds(5),
                                  .look_every = std::chrono::milliseconds(20),
                                  .flash_every = std::chrono::milliseconds(50),
                                  .room_every = std::chrono::hours(1)};
  std::unique_ptr<host::array_manager> manager;
};

/// Why the manager refuses something; nothing if it does not.
inline std::optional<control_reason> refused(const std::function<void()>& request,
                                             std::string* words = nullptr) {
  try {
    request();
  } catch (const host::control_error& e) {
    if (words != nullptr) *words = e.what();
    return e.why();
  }
  return std::nullopt;
}

}  // namespace gnstor::test

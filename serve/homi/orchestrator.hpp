#pragma once

#include "orchestrator_state.hpp"
#include <gnstor/host/file_descriptor.hpp>

#include <homi/message_socket.hpp>
#include <homi/protocol.hpp>
#include <local/nvme_device.hpp>
#include <local/own_controller.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::serve {

/// Owns an NVMe controller, and lends its I/O queues to other processes by a Unix socket: each has
/// queues of its own and lets the controller reach memory that it shares with this process.
///
/// When a process ends, however it ends, its queues are deleted first, and only then is its memory
/// given up: no command of it can reach memory that is somebody else's by then. Where a queue
/// cannot be deleted its memory stays. Processes trust each other: they share the controller's
/// address space and a page of doorbells.
class orchestrator {
 public:
  struct options {
    std::string socket;                           ///< path
    std::uint32_t queues = 8;                     ///< of a client at most
    std::uint64_t bytes = 1ull << 30;             ///< that a client shares at most
    std::uint32_t pieces = 16;                    ///< and in so many pieces
    std::uint32_t clients = 64;                   ///< at a time
    std::uint32_t look_every_ms = 10'000;         ///< at the controller's health
    std::function<void(const std::string&)> log;  ///< a line for an operator
  };

  /// Brings the controller up and listens. Throws `input_error` and `error` with the remedy.
  orchestrator(std::unique_ptr<host::nvme_device> device, options o);
  ~orchestrator();

  /// Serves until `stop`; then every client's queues are taken back. One thread.
  void serve();
  /// Any thread, or a signal handler.
  void stop() noexcept;

  const std::vector<std::string>& notes() const { return notes_; }
  /// As of the last request, and of the last look at the controller. Any thread.
  orchestrator_state state() const;

 private:
  struct client;

  void look_at_controller();
  void remember();
  void admit();
  void answer(client& c, host::homi::message m);
  std::string done(client& c, host::homi::message& m, const host::homi::request& r, int& file);
  std::string open(client& c, const host::homi::request& r, int& file);
  std::string share(client& c, host::file_descriptor file, std::uint64_t bytes);
  void unshare(client& c, std::uint64_t id);
  void create(client& c, const host::homi::request& r);
  void remove(client& c, std::uint64_t queue);
  std::string report() const;
  void end(client& c);
  void say(const std::string& line) const;

  options options_;
  std::unique_ptr<host::nvme_device> device_;
  std::unique_ptr<host::own_controller> controller_;
  host::nvme_device::doorbell_file doorbells_;
  host::homi::opened granted_;       ///< but for the queues: the same for all
  std::vector<std::uint16_t> idle_;  ///< queues that nobody has
  std::list<client> clients_;
  host::homi::message_socket listener_;
  host::file_descriptor stop_;
  std::vector<std::string> notes_;
  std::uint64_t served_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t events_ = 0;
  std::uint32_t lost_ = 0;
  std::optional<wire::nvme::health_log> health_;
  std::chrono::steady_clock::time_point looked_;
  mutable std::mutex state_use_;
  orchestrator_state state_;
};

}  // namespace gnstor::serve

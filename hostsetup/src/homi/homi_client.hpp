#pragma once

#include "message_socket.hpp"
#include "protocol.hpp"
#include <base/shared_memory.hpp>
#include <gnstor/core/duration.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace gnstor::host::homi {

/// A connection with gnstor-homid: a process's queues and shared memory there. Any thread.
class homi_client {
 public:
  /// Connects and asks for queues. Throws `input_error` with the daemon's words where it refuses.
  /// @param socket its path
  homi_client(const std::string& socket, std::uint32_t queues, duration timeout);

  const std::string& name() const { return name_; }
  const opened& granted() const { return granted_; }
  const shared_memory& doorbells() const { return doorbells_; }

  /// Lets the controller reach shared memory. Returns its DMA address; `id` ends that.
  std::uint64_t share(const shared_memory& memory, std::uint64_t& id);
  void unshare(std::uint64_t id) noexcept;
  void create(std::uint16_t queue, std::uint32_t entries, std::uint64_t submissions,
              std::uint64_t completions, std::uint32_t priority);
  void remove(std::uint16_t queue);

  /// What the daemon at `socket` has lent, and to whom.
  static std::vector<client_report> report(const std::string& socket);

 private:
  reply ask(request r, int file = -1, std::string* behind = nullptr,
            file_descriptor* brought = nullptr);

  std::string name_;
  int timeout_ms_;
  std::mutex use_;
  message_socket socket_;
  opened granted_{};
  shared_memory doorbells_;
};

/// The path of the socket that an endpoint's NAME means: of itself if it has a slash, else
/// /run/gnstor/homi/NAME.
std::string socket_path(const std::string& name);

}  // namespace gnstor::host::homi

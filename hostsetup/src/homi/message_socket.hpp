#pragma once

#include <gnstor/core/deadline.hpp>
#include <gnstor/host/file_descriptor.hpp>

#include <optional>
#include <string>

namespace gnstor::host::homi {

/// One message: JSON, and perhaps an open file.
struct message {
  std::string text;
  file_descriptor file;
};

/// A Unix socket that keeps messages apart (SOCK_SEQPACKET). Move-only owner.
class message_socket {
 public:
  static constexpr std::size_t most_bytes = 64 << 10;  ///< of a message

  message_socket() = default;
  explicit message_socket(file_descriptor socket) : socket_(std::move(socket)) {}
  /// Connects to who listens at `path`. Throws `input_error` with the remedy.
  static message_socket connect(const std::string& path);
  /// Listens there; what a server that has died left behind is replaced. Throws `input_error` where
  /// one is alive.
  static message_socket listen(const std::string& path);

  int get() const { return socket_.get(); }
  bool is_open() const { return socket_.is_open(); }
  /// Who connects next; nothing if nobody does now.
  std::optional<message_socket> accept() const;

  /// Sends one; `file` may be -1. False if the other end is gone, or takes nothing for so long.
  bool send(const std::string& text, int file = -1, int timeout_ms = 5000) const;
  /// The next one; nothing if none comes in time, or the other end is gone.
  std::optional<message> receive(int timeout_ms) const;

 private:
  file_descriptor socket_;
};

}  // namespace gnstor::host::homi

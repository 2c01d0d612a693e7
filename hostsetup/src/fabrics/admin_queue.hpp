#pragma once

#include "host_identity.hpp"
#include "transport.hpp"
#include <gnstor/channel/channel.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/qp/proxy_queue_pair.hpp>
#include <gnstor/wire/afa/connect_claims.hpp>
#include <gnstor/wire/fabrics/property_offset.hpp>

#include <mutex>
#include <span>

namespace gnstor::host::fabrics {

/// A channel whose requests a CPU thread forwards.
using proxy_channel = channel<proxy_queue_pair<>>;

/// What an admin queue needs to know beside the way to the target.
struct admin_options {
  std::string subsystem;
  host_identity host;
  std::chrono::milliseconds keep_alive{0};  ///< the target's patience; 0: endless
  std::chrono::milliseconds timeout{5000};  ///< of each command, and of the connection
  wire::afa::connect_claims claims{};
};

/// Owns the admin queue of one association: made by RDMA and Fabrics Connect, ended by the
/// destructor.
///
/// Commands may be sent from any thread. One that is not answered in time ends the association, as
/// its buffer could be written later.
class admin_queue {
 public:
  static constexpr std::uint32_t depth = 16;
  static constexpr std::uint32_t entries = 32;       ///< the least that a target has to allow
  static constexpr std::uint32_t page_bytes = 4096;  ///< data of one command at most

  /// Connects. Throws `verbs::connect_error`, or `io_error` with the target's refusal in words.
  admin_queue(transport& way, const admin_options& options);
  ~admin_queue();
  admin_queue(const admin_queue&) = delete;
  admin_queue& operator=(const admin_queue&) = delete;

  std::uint16_t controller_id() const { return controller_id_; }
  /// True once the connection has ended.
  bool ended() const { return link_->ended(); }
  void disconnect() { link_->disconnect(); }

  /// Sends a command without data and waits. Dwords 0 and 1 of the response.
  /// @param what for the message of the `io_error`: "setting feature 7"
  std::uint64_t execute(const wire::nvme::submission_entry& command, const char* what);
  /// Sends a command whose data comes from the target; `command.dptr` is filled in.
  std::uint64_t receive(wire::nvme::submission_entry command, std::span<std::byte> data,
                        const char* what);
  /// Sends a command whose data goes to the target; `command.dptr` is filled in.
  std::uint64_t send(wire::nvme::submission_entry command, std::span<const std::byte> data,
                     const char* what);

  std::uint64_t property(wire::fabrics::property_offset which);
  void set_property(wire::fabrics::property_offset which, std::uint64_t value);
  /// Log page `id`, `data.size()` bytes (a multiple of 4) from `offset` on, in pieces.
  void log_page(std::uint8_t id, std::uint64_t offset, std::span<std::byte> data);

  /// Sends a command without data; nobody waits. Nothing if no slot is free.
  result<ticket> submit(const wire::nvme::submission_entry& command);
  /// The channel itself, for commands that none of the above sends.
  proxy_channel ref() const { return channel_; }
  /// The answer if it has come, else would_block.
  gnstor::status answer(ticket t, std::uint64_t* value) { return channel_.try_wait(t, value); }

 private:
  void connect(transport& way, const admin_options& options);
  std::uint64_t wait(ticket t, const char* what);
  std::uint64_t exchange(wire::nvme::submission_entry command, std::size_t bytes, const char* what);

  admin_options options_;
  std::string peer_;
  memory_block memory_;  ///< queue, channel state, one page of data
  std::unique_ptr<registered_memory> registered_;
  std::unique_ptr<queue_link> link_;  ///< ends before the memory it uses
  proxy_channel channel_;
  unsigned char* page_;
  std::mutex page_use_;
  std::uint16_t controller_id_ = 0;
};

}  // namespace gnstor::host::fabrics

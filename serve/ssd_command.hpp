#pragma once

#include <gnstor/channel/ticket.hpp>
#include <gnstor/core/deadline.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>
#include <serve/block/ssd_shares.hpp>

#include <cstdint>

namespace gnstor::serve {

class command_engine;

/// What a host of the array subsystem asks of one SSD: an I/O command, as it has sent it. Whoever
/// submits it keeps it, and its memory, until `done` is called.
class ssd_command {
 public:
  wire::nvme::submission_entry entry{};  ///< its data pointer and command id are not looked at
  io_buffer memory{};                    ///< its data: `command_engine::register_memory`

  status outcome{};
  /// An SSD that fell silent may use `memory` still: nobody is to use it for anything else.
  bool memory_lost = false;

  virtual ~ssd_command() = default;
  /// From `submit` to `done`.
  std::uint64_t took_ns() const { return ended_ns_ - submitted_ns_; }
  /// It has ended: `outcome` and `memory_lost` say how. The engine does not touch it any more.
  /// @par Callers the engine's thread, which others wait for: not to wait here
  virtual void done() noexcept = 0;

 private:
  friend class command_engine;

  ticket ticket_{};
  deadline ends_ = deadline::never();
  ssd_asks asks_;
  std::uint64_t submitted_ns_ = 0;
  std::uint64_t ended_ns_ = 0;
};

}  // namespace gnstor::serve

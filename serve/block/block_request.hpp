#pragma once

#include <gnstor/core/deadline.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/io/volume_info.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <serve/block/phase_counts.hpp>
#include <serve/block/ssd_shares.hpp>
#include <serve/block/write_order.hpp>

#include <optional>

namespace gnstor::serve {

class block_engine;

/// What is asked of a block engine: one range of a volume, or all of it to be flushed. Whoever
/// submits it keeps it, and its memory, until `done` is called.
class block_request : private write_order::turn {
 public:
  enum class kind : std::uint8_t { read, write, write_zeroes, flush };

  kind what = kind::read;
  volume_info volume{};      ///< in any epoch
  std::uint64_t first = 0;   ///< block
  std::uint64_t blocks = 0;  ///< 4096 bytes each; 0 for a flush
  io_buffer memory{};        ///< registered with the engine's link; for reads and writes

  status outcome{};
  /// An SSD that fell silent may use `memory` still: nobody is to use it for anything else. Also
  /// after a success: another replica has answered, or another epoch has begun.
  bool memory_lost = false;

  ~block_request() override = default;
  /// From `submit` to `done`.
  std::uint64_t took_ns() const { return since_ns_ - submitted_ns_; }
  /// It has ended: `outcome` and `memory_lost` say how. The engine does not touch it any more.
  /// @par Callers the engine's thread, which others wait for: not to wait here
  virtual void done() noexcept = 0;
  /// Other memory for a read whose own an SSD may still write: that one is given up, and the read
  /// begins again. Nothing: it ends, as memory is not to be had.
  /// @par Callers as `done`
  virtual std::optional<io_buffer> other_memory() noexcept { return std::nullopt; }

 private:
  friend class block_engine;

  /// True if two of them could leave replicas that differ.
  bool has_turn() const {
    return (what == kind::write || what == kind::write_zeroes) && volume.replicas > 1;
  }
  void comes() noexcept override;

  block_engine* engine_ = nullptr;
  std::uint64_t at_ = 0;         ///< blocks done
  std::uint64_t under_way_ = 0;  ///< blocks that have been sent
  deadline ends_ = deadline::never();
  std::uint32_t sent_in_ = 0;  ///< epoch
  std::uint64_t sent_by_ = 0;  ///< `array_link::fresh_starts`
  ssd_asks asks_;              ///< of what is under way
  std::uint64_t submitted_ns_ = 0;
  bool in_phase_ = false;  ///< `phase_`
  request_phase phase_ = request_phase::queued;
  std::uint64_t since_ns_ = 0;  ///< when it came to that phase, or left the last one
  std::uint64_t avoided_ = 0;   ///< SSDs that fell silent in that epoch, by bit
};

}  // namespace gnstor::serve

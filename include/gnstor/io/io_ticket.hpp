#pragma once

#include <gnstor/channel/ticket.hpp>

namespace gnstor::inline v0 {

/// Names one asynchronous operation of a session, until its `wait` returns.
struct io_ticket {
  ticket operation;           ///< of the channel's operation table
  std::uint16_t channel = 0;  ///< index in the channel set: any warp may wait

  /// No operation, of a lane that wanted none: it has ended well.
  GNSTOR_HD static constexpr io_ticket nothing() { return {{}, 0xffff}; }
  GNSTOR_HD constexpr bool is_nothing() const { return channel == 0xffff; }
};

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/io/epoch_board.hpp>
#include <gnstor/io/outcome.hpp>

namespace gnstor::detail {

/// What a request that has failed does next. Nothing of it is under way.
struct next_attempt {
  /// Connections that one request may lose, and go on: it may be what they die of.
  static constexpr std::uint32_t most_losses = 4;

  status outcome;  ///< of the request, if it does not go on
  bool goes_on = false;
  array_epoch epoch{};       ///< to go on in; number 0: in the same, by another connection
  std::uint32_t losses = 0;  ///< connections that it has lost so far

  /// Waits for an epoch of the array in which a request may succeed that has failed with `s` in the
  /// one that it knows, or for the channel to come back with whose connection it was lost. One
  /// function, called: what follows a failure is not copied to where every request is made.
  /// @param known epoch @param losses before this one
  /// @par Callers any lane, converged or not
  /// @par Bound `d`
  template <class Channel>
  GNSTOR_HD_SLOW static next_attempt after(status s, const Channel channel, epoch_board& board,
                                           std::uint32_t known, std::uint32_t losses, deadline d) {
    next_attempt next{.outcome = s, .losses = losses};
    if (lost_with_channel(s)) {
      const bool may = next.losses++ < most_losses;
      next.goes_on = may && board.await_channel(channel, d);
      // An attempt before a refusal was sent, and may be executed yet.
      if (!next.goes_on && next.losses > 1 && s.code == status_code::flushed)
        next.outcome.by = reporter::queue_pair;
    } else {
      next.goes_on = another_epoch_may_help(s) && board.await_after(known, d, next.epoch);
    }
    return next;
  }
};

}  // namespace gnstor::detail

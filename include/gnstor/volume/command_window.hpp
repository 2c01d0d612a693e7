#pragma once

#include <gnstor/channel/fail_over.hpp>
#include <gnstor/channel/io_part.hpp>
#include <gnstor/channel/ticket.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/volume/replica_set.hpp>

namespace gnstor::detail {

/// The commands of one synchronous call that changes something: sent one after another as far as
/// the channel has room, a few of them on their way at a time.
template <class Channel>
class command_window {
 public:
  /// @param ends when the call ends at the latest
  GNSTOR_HD_INLINE command_window(const Channel& channel, deadline ends)
      : channel_(channel), ends_(ends) {}

  /// Sends the command of `part` to its first SSD; waits for room.
  /// @par Callers one lane, in any company
  GNSTOR_HD_INLINE void send(const io_part& part) {
    const auto command = part.command();
    result<ticket> t = status::make(status_code::would_block, reporter::channel);
    if (sent_count_ - settled_ < places) t = channel_.submit(command);
    for (until more{ends_}; more && t.status.code == status_code::would_block;) {
      // A lane that waits for a slot holds none: lanes with one slot each would wait for each
      // other.
      if (settled_ < sent_count_) {
        settle_one();
      } else {
        (void)channel_.make_room();
      }
      t = channel_.submit(command);
    }
    if (t) {
      sent_[sent_count_++ % places] = in_flight{t.value, part.ssd()};
    } else {
      const bool late = t.status.code == status_code::would_block;
      outcome_ = combined(outcome_,
                          late ? status::make(status_code::timed_out, reporter::volume) : t.status);
    }
  }

  /// Waits for what is on its way.
  /// @par Result the first failure; also whether something was left behind
  /// @par Callers the lane that sent
  GNSTOR_HD_INLINE status finish() {
    for (bounded left{places}; left && settled_ < sent_count_;) settle_one();
    return outcome_;
  }

 private:
  static constexpr std::uint32_t places = max_replicas;

  struct in_flight {
    ticket sent{};
    ssd_index ssd{};
  };

  GNSTOR_HD_INLINE void settle_one() {
    const in_flight& oldest = sent_[settled_++ % places];
    outcome_ = combined(outcome_, named(channel_.wait(oldest.sent, ends_), oldest.ssd.value));
  }

  Channel channel_;
  deadline ends_;
  in_flight sent_[places];
  std::uint32_t sent_count_ = 0;
  std::uint32_t settled_ = 0;
  status outcome_;
};

}  // namespace gnstor::detail

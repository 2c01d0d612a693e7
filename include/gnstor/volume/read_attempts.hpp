#pragma once

#include <gnstor/channel/fail_over.hpp>
#include <gnstor/channel/io_part.hpp>
#include <gnstor/simt/clock.hpp>

namespace gnstor::detail {

/// A read of one piece, replica by replica: who is asked next, until when, and what it all means.
class read_attempts {
 public:
  /// @param part the read, with the SSDs that hold the piece
  /// @param silent the SSDs that did not answer an earlier piece, by bit: they are asked last
  GNSTOR_HD read_attempts(const io_part& part, std::uint64_t silent) : part_(part) {
    for (std::uint32_t k = 0; k < part.places && (silent >> part_.ssd().value & 1) != 0; ++k)
      part_.ssds = part_.ssds >> 8 | std::uint64_t{part_.ssd().value} << 8 * (part_.places - 1);
  }

  /// The command for the SSD that is asked now.
  GNSTOR_HD wire::nvme::submission_entry command() const { return part_.command(); }
  /// The part of the time that this SSD has.
  GNSTOR_HD deadline turn(deadline d) const {
    const std::uint32_t left = part_.places - part_.tried;
    return left == 1 ? d : share_of(d, simt::now_ns(), left);
  }
  /// Notes how the SSD answered. True if another one may do better.
  GNSTOR_HD bool again(status answer, std::uint64_t& silent) {
    outcome_ = answer;
    if (answer.ok()) return false;  // mostly so: nothing else is computed for it
    outcome_ = named(answer, part_.ssd().value);
    if (!another_replica_may_help(outcome_)) return false;
    if (outcome_.left_behind()) silent_ = part_.ssd().value;
    if (outcome_.code == status_code::timed_out) silent |= std::uint64_t{1} << part_.ssd().value;
    return ++part_.tried < part_.places;
  }
  /// True if the read ended well and left nothing behind: it adds nothing to what came before.
  GNSTOR_HD bool clean() const { return outcome_.ok() && silent_ == nobody; }
  /// How the read ended.
  GNSTOR_HD status outcome() const {
    if (silent_ == nobody || outcome_.left_behind()) return outcome_;
    return outcome_.ok() ? status::in_use(silent_)
                         : status::make(status_code::timed_out, reporter::volume);
  }

 private:
  static constexpr std::uint16_t nobody = 0xffff;

  io_part part_;
  status outcome_;
  std::uint16_t silent_ = nobody;  ///< the SSD that was given up last
};

}  // namespace gnstor::detail

#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>

#include <type_traits>

namespace gnstor::fw {

/// Which SSDs serve in an epoch, as an SSD keeps it: `wire::afa::array_membership`, sealed. Two of
/// them take turns, so that a change is there or is not.
struct membership_record {
  std::uint64_t absent = 0;
  std::uint64_t filling = 0;
  std::uint32_t epoch = 0;
  std::uint32_t check = 0;

  GNSTOR_HD constexpr std::uint32_t expected_check() const {
    return static_cast<std::uint32_t>(mix64(mix64(absent ^ epoch) ^ mix64(~filling)) >> 32);
  }
  GNSTOR_HD constexpr bool is_sealed() const { return epoch != 0 && check == expected_check(); }

  GNSTOR_HD static constexpr membership_record of(std::uint32_t epoch, std::uint64_t absent,
                                                  std::uint64_t filling) {
    membership_record r{absent, filling, epoch, 0};
    r.check = r.expected_check();
    return r;
  }
};

static_assert(sizeof(membership_record) == 24 && std::is_trivially_copyable_v<membership_record>);

}  // namespace gnstor::fw

#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/stand_ins.hpp>

#include <type_traits>

namespace gnstor::fw {

/// Which SSDs serve in an epoch, as an SSD keeps it: `wire::afa::array_membership`, sealed together
/// with who stands in for others, which lies elsewhere. Two of them take turns, so that a change is
/// there or is not.
struct membership_record {
  std::uint64_t absent = 0;
  std::uint64_t filling = 0;
  std::uint32_t epoch = 0;
  std::uint32_t check = 0;

  GNSTOR_HD constexpr std::uint32_t expected_check(wire::afa::stand_ins others) const {
    const std::uint64_t serving = mix64(mix64(absent ^ epoch) ^ mix64(~filling));
    return static_cast<std::uint32_t>((others.any() ? mix64(serving ^ others.bits) : serving) >>
                                      32);
  }
  GNSTOR_HD constexpr bool is_sealed(wire::afa::stand_ins others) const {
    return epoch != 0 && check == expected_check(others);
  }

  GNSTOR_HD static constexpr membership_record of(std::uint32_t epoch, std::uint64_t absent,
                                                  std::uint64_t filling,
                                                  wire::afa::stand_ins others = {}) {
    membership_record r{absent, filling, epoch, 0};
    r.check = r.expected_check(others);
    return r;
  }
};

static_assert(sizeof(membership_record) == 24 && std::is_trivially_copyable_v<membership_record>);

}  // namespace gnstor::fw

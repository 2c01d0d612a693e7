#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// A namespace and the controller that has it, in the NSID of a command on its way to a queue pair
/// that reaches several (`nvme_striped_queue_pair`): the index of the controller is the upper half.
///
/// No controller sees it: the queue pair keeps the lower half. Controller 0's is the id itself.
struct member_nsid {
  std::uint32_t nsid = 0;        ///< 1 to 65535
  std::uint32_t controller = 0;  ///< below 16

  GNSTOR_HD static constexpr std::uint32_t pack(std::uint32_t nsid, std::uint32_t controller) {
    return nsid | controller << 16;
  }
  GNSTOR_HD static constexpr member_nsid unpack(std::uint32_t packed) {
    return {packed & 0xffff, packed >> 16};
  }
};

static_assert(member_nsid::pack(7, 0) == 7 && member_nsid::unpack(0x30007).controller == 3);

}  // namespace gnstor::inline v0

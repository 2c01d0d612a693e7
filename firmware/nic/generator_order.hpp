#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::fw {

/// Which frames of a port's generator are for which of its rings, where each ring has a generator
/// of its own.
///
/// Receive-side scaling chooses by the 5-tuple, and the 5-tuple follows from a frame's number: so a
/// ring's frames can be counted without those of the others.
struct generator_order {
  struct flow {
    std::uint32_t hash;
    std::uint16_t number;
    std::uint8_t type;  ///< `wire::intel::rss_type`
    std::uint8_t reserved;
  };
  static_assert(sizeof(flow) == 8);

  /// Of each port, `count` flows: those of its ring 0, then those of ring 1, and so on, ascending.
  /// Null: a port has one ring, and all frames are for that.
  const flow* flows = nullptr;
  const std::uint32_t* firsts = nullptr;  ///< of each port: where its rings' begin, and the end
  std::uint32_t count = 0;
  std::uint32_t rings = 1;  ///< of each port

  /// A frame of a ring.
  struct place {
    std::uint64_t number;
    flow of;
  };
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  /// Frame `k` of ring `queue` of `port`, from 0 on; its number is `none` where the ring gets none.
  GNSTOR_HD place of(std::uint32_t port, std::uint32_t queue, std::uint64_t k) const {
    if (flows == nullptr) return {k, {}};
    const std::uint32_t* const first = firsts + port * (rings + 1) + queue;
    const std::uint32_t size = first[1] - first[0];
    if (size == 0) return {none, {}};
    const flow f = flows[std::uint64_t{port} * count + first[0] + k % size];
    return {k / size * count + f.number, f};
  }
};

static_assert(std::is_trivially_copyable_v<generator_order>);

}  // namespace gnstor::fw

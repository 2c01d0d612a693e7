#pragma once

#include <afa/node.hpp>

namespace gnstor::fw {

/// A node whose descriptions of SSDs lie in the block's own memory, if there is room: they never
/// change, and every command asks for one.
struct near_node {
  static constexpr std::uint32_t most_ssds = 16;
  struct storage {
    alignas(node::ssd) unsigned char ssds[most_ssds * sizeof(node::ssd)];
  };

  /// @par Callers every lane of the block
  template <class Lane>
  GNSTOR_HD_INLINE static node of(Lane& lane, const node& far, storage& room) {
    node near = far;
    if (far.shape.ssd_count > most_ssds) return near;
    const auto bytes = static_cast<std::uint32_t>(far.shape.ssd_count * sizeof(node::ssd));
    const auto* from = reinterpret_cast<const unsigned char*>(far.ssds);
    for (std::uint32_t k = lane.thread(); k < bytes; k += lane.block_threads())
      room.ssds[k] = from[k];
    lane.sync_block();
    near.ssds = reinterpret_cast<node::ssd*>(room.ssds);
    return near;
  }
};

}  // namespace gnstor::fw

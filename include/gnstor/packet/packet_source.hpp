#pragma once

#include <gnstor/packet/packet.hpp>
#include <gnstor/simt/lane.hpp>

#include <concepts>
#include <type_traits>

namespace gnstor::inline v0 {

/// What makes packets in a kernel of its own: a functor that each lane has a copy of. It writes a
/// frame into an empty packet (`resize`, then `data`) and returns true to send it; false where it
/// has none just now, and then the place stays empty: nobody waits for it.
///
/// `position` is the packet's place in the order of sending: each is given out once, to all lanes
/// in turn, from 0 on.
template <class S>
concept packet_source = std::is_trivially_copyable_v<S> &&
    requires(S s, simt::lane<>& lane, packet p, std::uint64_t position) {
  { s.make(lane, p, position) } -> std::same_as<bool>;
};

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/packet/packet.hpp>
#include <gnstor/packet/packet_verdict.hpp>
#include <gnstor/simt/lane.hpp>

#include <concepts>
#include <type_traits>

namespace gnstor::inline v0 {

/// What handles packets in a kernel of its own: a functor that each lane has a copy of, for its
/// packets alone, in the order in which they came.
template <class A>
concept packet_application = std::is_trivially_copyable_v<A> &&
    requires(A a, simt::lane<>& lane, packet p) {
  { a.receive(lane, p) } -> std::same_as<packet_verdict>;
};

}  // namespace gnstor::inline v0

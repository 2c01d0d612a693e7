#pragma once

#include <gnstor/core/config.hpp>

#include <concepts>
#include <type_traits>

namespace gnstor::inline v0 {

/// A ring of descriptors between a kernel and a NIC: what the packet kernels ask of one, whichever
/// way it goes and whatever its format.
///
/// The NIC owns the descriptors from its head up to, not including, the tail; where both are equal
/// it owns none, so that one of `depth` is always the driver's.
template <class R>
concept descriptor_ring = std::is_trivially_copyable_v<R> &&
    requires(const R& ring, std::uint32_t index) {
  { ring.depth() } -> std::same_as<std::uint32_t>;
  { ring.is_done(index) } -> std::same_as<bool>;  // acquires what the NIC did with it
  ring.write_tail(index);                         // releases the descriptors before it
  ring.disable();                                 // asks the NIC to leave the ring alone
  { ring.is_enabled() } -> std::same_as<bool>;    // false once the NIC does
};

}  // namespace gnstor::inline v0

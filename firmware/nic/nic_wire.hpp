#pragma once

#include <nic/wire_arrival.hpp>

#include <concepts>

namespace gnstor::fw {

/// What a port is wired to: where its frames come from, and where those that it sends go. The
/// engines of both directions are the same whatever that is.
template <class W>
concept nic_wire = requires(W& w, const wire_arrival& a, unsigned char* to,
                            const unsigned char* from, std::uint32_t bytes, bool delivered) {
  { w.look() } -> std::same_as<wire_arrival>;     // the same frame until `pass`
  w.write(a, to);                                 // its `a.bytes` bytes
  w.pass(a, delivered);                           // it is in a buffer, or was dropped
  { w.send(from, bytes) } -> std::same_as<bool>;  // false: it has to wait
};

}  // namespace gnstor::fw

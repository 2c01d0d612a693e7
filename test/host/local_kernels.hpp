#pragma once
/// Kernels that tests of local controllers share.

#include "volume/session_rig.hpp"
#include <gnstor/host/array.hpp>

#include <cstdint>
#include <vector>

namespace gnstor::test {

/// Adds 1 to every `stride`-th element.
struct add_one {
  template <class Lane>
  void operator()(Lane& lane, remote_array<std::uint64_t> view, std::uint64_t stride) const {
    for (std::uint64_t k = lane.global_thread(); k * stride < view.size(); k += lane.grid_threads())
      view[k * stride] += 1;
  }
};

/// Runs a kernel whose lanes each read what is their own, and returns how that ended for each.
template <class Kernel>
std::vector<status> outcomes_of(const Kernel& read, host::session& s, const volume_info& v,
                                registered& memory, std::uint32_t lanes,
                                duration timeout = std::chrono::seconds(10)) {
  std::vector<std::uint64_t> packed(lanes);
  run(s, 1, lanes, read, s.ref(v), memory.buffer, timeout.ns(), packed.data());
  std::vector<status> all;
  for (const std::uint64_t p : packed) all.push_back(status::unpack(p));
  return all;
}

}  // namespace gnstor::test

#pragma once
/// Kernels that tests of local controllers share.

#include "volume/session_rig.hpp"
#include <gnstor/host/array.hpp>

#include <cstdint>
#include <numeric>
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

/// Writes an array of `count` elements, adds 1 to every `stride`-th of them by a kernel, and reads
/// the volume below.
/// @return the first element that is wrong; `count` if none is
inline std::size_t first_wrong_after_adding(host::session& s, std::size_t count,
                                            const host::array_options& how, std::uint64_t stride) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1u);
  const volume_info v = s.create_volume({.bytes = count * sizeof numbers[0]});
  host::array<std::uint64_t> a(s, v, count, how);
  a.write(0, count, numbers.data());
  host::executor machine;
  machine.spawn(2, 32, add_one{}, a.view(), stride);
  s.attach(machine);
  machine.run();
  a.flush();
  std::vector<std::uint64_t> there(count / 512 * 512);
  s.read(v, 0, there.data(), there.size() * sizeof there[0]);
  for (std::size_t k = 0; k < there.size(); ++k)
    if (there[k] != numbers[k] + (k % stride == 0)) return k;
  return count;
}

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

#pragma once
/// Shorthands of the runtime's own tests.

#include <gnstor/simt_host/executor.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace gnstor::test {

namespace host = simt::host;

#if defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t sweep_seeds =
    20;  ///< of a sweep; ThreadSanitizer is a hundred times slower
#else
inline constexpr std::uint64_t sweep_seeds = 400;
#endif

/// A host-only kernel from a lambda that takes the lane.
template <class Body>
struct lambda_kernel {
  Body body;
  template <class Lane>
  void operator()(Lane& lane) const {
    body(lane);
  }
};
template <class Body>
lambda_kernel(Body) -> lambda_kernel<Body>;

/// Makes doctest set up what it keeps per thread. Lanes share their thread's variables, and
/// ThreadSanitizer would take the first CHECK inside a lane for a race with the next.
inline void prepare_checks() {
  static thread_local const bool done = [] {
    CHECK(true);
    return true;
  }();
  static_cast<void>(done);
}

/// Runs `body` as every lane of one grid.
template <class Body>
void run(host::options chosen, std::uint32_t grid, std::uint32_t block, Body body) {
  prepare_checks();
  host::executor machine(chosen);
  machine.spawn(grid, block, lambda_kernel{body});
  machine.run();
}

inline host::options seeded(std::uint64_t seed) {
  return {.run = host::mode::seeded, .seed = seed};
}
inline host::options weak(std::uint64_t seed) { return {.run = host::mode::weak, .seed = seed}; }

/// The first of `seeds` seeds for which `found(seed)` holds, or 0.
template <class Found>
std::uint64_t first_seed(std::uint64_t seeds, Found found) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (found(seed)) return seed;
  }
  return 0;
}
/// How many of `seeds` seeds `found(seed)` holds for.
template <class Found>
std::uint64_t count_seeds(std::uint64_t seeds, Found found) {
  std::uint64_t count = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) count += found(seed) ? 1 : 0;
  return count;
}

}  // namespace gnstor::test

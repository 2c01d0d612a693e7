#pragma once
/// Runs one case under many seeds of a mode. GNSTOR_SEEDS=N runs N seeds instead of the usual
/// share; seed S of a failure alone is GNSTOR_FIRST_SEED=S GNSTOR_SEEDS=1.

#include "seeds.hpp"
#include "under_tsan.hpp"
#include <gnstor/simt_host/executor.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace gnstor::test {

namespace host = simt::host;

/// Calls `run` with the options of each seed; the first fault it tells ends the case.
/// @param share seeds in an ordinary run; ThreadSanitizer's is 20 at most
template <class Run>
void sweep(host::mode mode, std::uint64_t share, Run run) {
  const std::uint64_t usual = under_tsan && share > 20 ? 20 : share;
  const std::uint64_t first = number_from("GNSTOR_FIRST_SEED", 1);
  const std::uint64_t count = seeds_of(usual);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string fault = run(host::options{.run = mode, .seed = seed});
    CAPTURE(seed);
    REQUIRE(fault == "");
  }
}

/// What went wrong in `machine.run()`, or nothing.
inline std::string run_to_end(host::executor& machine) {
  try {
    machine.run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace gnstor::test

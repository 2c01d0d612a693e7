#pragma once

#include "lambda_kernel.hpp"
#include <gnstor/simt_host/options.hpp>

#include <doctest/doctest.h>

namespace gnstor::test {

/// Lets one lane run `body(view)` on the array of `r`, whose words must be as they should then.
template <class Rig, class Body>
void alone(Rig& r, Body body) {
  simt::host::options chosen;
  chosen.step_budget = 100'000'000;
  const lambda_kernel kernel{[body](auto&, const auto& view) { body(view); }};
  CHECK(r.run(chosen, 1, 1, kernel, r.view()) == "");
  CHECK(r.quiet() == "");
}

}  // namespace gnstor::test

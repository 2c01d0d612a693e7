/// Division by a reciprocal, against the machine's own.
#include "wire/random_fields.hpp"
#include <gnstor/core/divisor.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("a divisor divides every number as the machine does") {
  std::vector<std::uint32_t> divisors{1, 2, 3, 7, 10, 4095, 65535, 65536, ~0u, ~0u - 1};
  for (std::uint32_t k = 1; k < 32; ++k)
    for (const std::uint32_t by : {0u, 1u, 2u}) divisors.push_back((1u << k) - 1 + by);
  random_fields fields("divisor");
  for (int k = 0; k < 200; ++k) divisors.push_back(1 + fields.draw<std::uint32_t>() % ~0u);
  for (const std::uint32_t d : divisors) {
    const divisor by(d);
    const auto agrees = [&](std::uint32_t n) {
      return by.quotient(n) == n / d && by.remainder(n) == n % d;
    };
    bool all = by.value() == d;
    for (const std::uint32_t n : {0u, 1u, d - 1, d, d + 1, ~0u - 1, ~0u, ~0u / d * d})
      all = all && agrees(n) && agrees(n - 1);
    for (int k = 0; k < 500; ++k) all = all && agrees(fields.draw<std::uint32_t>());
    CAPTURE(d);
    CHECK(all);
  }
}

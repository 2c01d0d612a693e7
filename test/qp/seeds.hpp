#pragma once
/// How many seeds, or rounds, a test runs: GNSTOR_SEEDS, or its usual share; a quarter of that with
/// GNSTOR_QUICK=1, as in an ordinary `scripts/test`.

#include <cstdint>
#include <cstdlib>

namespace gnstor::test {

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

inline std::uint64_t seeds_of(std::uint64_t usual) {
  const bool quick = number_from("GNSTOR_QUICK", 0) != 0;
  return number_from("GNSTOR_SEEDS", quick ? (usual + 3) / 4 : usual);
}

/// A number of rounds; a smaller one with GNSTOR_QUICK=1.
inline int rounds_of(int usual, int quick) {
  return number_from("GNSTOR_QUICK", 0) != 0 ? quick : usual;
}

}  // namespace gnstor::test

#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace gnstor::test {

inline std::vector<unsigned char> random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<unsigned char> out(count);
  for (auto& b : out) b = static_cast<unsigned char>(random());
  return out;
}

}  // namespace gnstor::test

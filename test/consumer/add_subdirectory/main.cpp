/// The headers alone, from a source tree: the kernel runs as a plain function, one lane.

#include "../count_lanes.hpp"

#include <cstdio>

int main() {
  std::uint32_t total = 0;
  gnstor::simt::lane<> lane;
  count_lanes{}(lane, &total);
  std::printf("%u lane\n", total);
  return total == 1 ? 0 : 1;
}

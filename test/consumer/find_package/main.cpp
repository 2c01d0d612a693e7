/// The installed package: the kernel runs in the host runtime.

#include "../count_lanes.hpp"
#include <gnstor/simt_host/executor.hpp>

#include <cstdio>

int main() {
  std::uint32_t total = 0;
  gnstor::simt::host::executor executor;
  executor.spawn(2, 64, count_lanes{}, &total);
  executor.run();
  std::printf("%u lanes\n", total);
  return total == 128 ? 0 : 1;
}

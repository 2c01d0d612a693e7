// Two emulated NICs beside one, under kernels of a GPU and with the array node on the same GPU.
// Each moves at most 6.5 GB/s, what one NIC of DREAM's testbed does (section 4.2): a model, as no
// NIC is there.
#include "two_paths/paths.hpp"

namespace {

const bool registered = [] {
  gnstor::benchmarks::add_two_paths({.node = "runner=gpu&shards=32&capacity=256M",
                                     .rate = "6199M",
                                     .rate_bytes = std::uint64_t{6199} << 20,
                                     .blocks = 128 * 1024,
                                     .groups = 64,
                                     .threads = 128,
                                     .reads = 32,
                                     .stride = 1,
                                     .rounds = 5});
  return true;
}();

}  // namespace

// Two emulated NICs beside one, in virtual time of the host SIMT runtime: whether volumes and
// arrays get what both NICs may move, whatever this machine is doing beside it.
#include "two_paths/paths.hpp"

namespace {

const bool registered = [] {
  gnstor::benchmarks::add_two_paths({.node = "runner=sim&capacity=16M",
                                     .rate = "1M",
                                     .rate_bytes = 1 << 20,
                                     .blocks = 256,
                                     .groups = 8,
                                     .threads = 4,
                                     .reads = 8,
                                     .stride = 256,
                                     .rounds = 1});
  return true;
}();

}  // namespace

/// Asynchronous operations against a scripted peer on a GPU: the clients are one kernel, the peer
/// another.
#include "journey_fixture.hpp"
#include "qp/device_block.cuh"
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

namespace {

std::string travelled(journey_shape s, std::uint32_t seed) {
  const device_block memory(s.bytes());
  journey_fixture f(s, seed, memory.data());
  f.client.patience_ns = 20'000'000;
  f.client.stop = f.peer.stop;
  memory.upload(f.image);
  simt::cuda::reserve_local_memory(4096);  // of the scripted peer
  simt::cuda::executor machine;
  machine.spawn(s.blocks, s.lanes, f.client);
  machine.spawn(1, s.channels, f.peer);
  machine.run();
  memory.download(f.image);
  return f.judge();
}

}  // namespace

TEST_CASE("every operation ends once, with the outcome of all its parts") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    CHECK(travelled({.blocks = 3, .lanes = 64, .rounds = 4, .channels = 3, .depth = 32}, seed) ==
          "");
    CHECK(travelled({.blocks = 2, .lanes = 32, .rounds = 1, .channels = 1, .depth = 8}, seed) ==
          "");
  }
}

/// Batches of warps against a scripted peer on a GPU: the clients are one kernel, the peer another.
#include "batch_fixture.hpp"
#include "qp/device_block.cuh"
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

namespace {

template <std::uint32_t Warps>
std::string batched(batch_shape s, std::uint32_t seed) {
  const device_block memory(s.bytes());
  batch_fixture<Warps> f(s, seed, memory.data());
  f.client.patience_ns = 20'000'000;
  f.client.stop = f.peer.stop;
  memory.upload(f.image);
  simt::cuda::reserve_local_memory(4096);  // of the scripted peer
  simt::cuda::executor machine;
  machine.spawn(s.blocks, s.threads, f.client);
  machine.spawn(1, 1, f.peer);
  machine.run();
  memory.download(f.image);
  return f.judge();
}

}  // namespace

TEST_CASE("a batch handles each request once, whole warps and parts of them") {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    CHECK(batched<1>({.threads = 32, .rounds = 20}, seed) == "");
    CHECK(batched<2>({.threads = 40, .rounds = 8, .of_each = 3}, seed) == "");
    CHECK(batched<4>({.blocks = 8, .threads = 128, .rounds = 8}, seed) == "");
    CHECK(batched<32>({.threads = 1024, .rounds = 2, .of_each = 2}, seed) == "");
  }
}

TEST_CASE("a request without an answer is given up by the drain, and by that alone") {
  CHECK(batched<1>({.threads = 32, .rounds = 1, .never = 5}, 1) == "");
}

/// Memory channels on a GPU: the lanes are one kernel, the node that serves memory another.
#include "node_rig.hpp"
#include "qp/device_block.cuh"
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// One exchange of lanes and a node on the same GPU; what went wrong, or nothing.
std::string exchanged(exchange_size s, std::uint32_t workers) {
  const device_block memory(exchange_rig::bytes_for(s, node_rig::node_bytes(s, workers)));
  node_rig r(s, workers, 0, memory.data());
  memory.upload(r.image);
  simt::cuda::executor machine;
  machine.spawn(s.blocks, s.lanes, r.client);
  constexpr std::uint32_t each = fw::memory_service::most_warps;
  machine.serve((r.node.shape.roles() + each - 1) / each, 32 * each, *r.stop,
                fw::memory_service{r.node});
  machine.run();
  memory.download(r.image);
  return r.judge_all_done();
}

}  // namespace

TEST_CASE("every lane of a GPU reads back what it wrote to the node's memory") {
  CHECK(exchanged({.blocks = 1, .lanes = 32, .rounds = 20, .depth = 32, .same_device = true}, 1) ==
        "");
  CHECK(exchanged({.blocks = 8,
                   .lanes = 128,
                   .rounds = 16,
                   .channels = 8,
                   .depth = 64,
                   .same_device = true},
                  24) == "");
  CHECK(exchanged({.blocks = 4, .lanes = 128, .rounds = 8, .channels = 2, .depth = 16}, 8) == "");
}

/// The whole data path on one GPU: the clients are one kernel, the array node's firmware another.
#include "node_fixture.hpp"
#include "qp/device_block.cuh"
#include "volume_io.hpp"
#include <afa/copy_service.hpp>
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Runs `blocks` blocks of `lanes` lanes against a node. Says what went wrong, or nothing.
std::string ran(std::uint32_t blocks, std::uint32_t lanes, std::uint32_t rounds, node_size size) {
  size.buffer_blocks = blocks * lanes;
  const std::size_t record_bytes = 4096;
  const device_block memory(node_fixture::bytes_for(size) + record_bytes);
  node_fixture f(size, memory.data());
  auto* record = f.image.take<volume_io_record>();
  const volume_io body{.volume = f.volume(),
                       .channels = f.channels,
                       .channel_count = size.queues,
                       .connecting = f.connecting(),
                       .buffer = f.buffer,
                       .key = node_fixture::key,
                       .rounds = rounds,
                       .seed = 1,
                       .timeout_ns = 20'000'000'000,
                       .record = record,
                       .stop = f.node.stop};
  memory.upload(f.image);
  simt::cuda::executor machine;
  machine.spawn(blocks, lanes, body);
  const std::uint32_t workers = f.node.shape.copy_workers;
  machine.spawn(workers, 32, fw::copy_service{f.node});
  machine.spawn(f.node.shape.roles() - workers, 32, fw::service{f.node, workers});
  machine.run();
  memory.download(f.image);
  const volume_io_record& seen = *f.image.here(record);
  if (seen.failed != 0) return "I/O failed: " + std::to_string(seen.first_fault);
  if (seen.wrong_own != 0) return "a lane did not read what it wrote";
  if (seen.torn != 0) return "a block of two writes at once";
  if (seen.not_zero != 0) return "a block never written is not zero";
  return seen.ended == blocks * lanes ? "" : "a lane did not end";
}

}  // namespace

TEST_CASE("what is written is read back by few lanes over one queue pair") {
  CHECK(ran(1, 32, 20, {.depth = 32, .pages = 4096}) == "");
}

TEST_CASE("what is written is read back by many lanes over several queue pairs") {
  CHECK(ran(3, 64, 8, {.shards = 4, .queues = 4, .depth = 64, .pages = 8192, .copy_workers = 16}) ==
        "");
}

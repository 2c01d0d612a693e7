/// Blocks of a GPU that each own a queue of a local controller.
#include "block_queue.hpp"
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

template <std::uint32_t Threads>
void exchange_in_blocks(const std::string& where, std::uint32_t blocks) {
  CAPTURE(where);
  CAPTURE(Threads);
  host::session s(where, {.channels = blocks, .depth = Threads < 2 ? 2 : Threads});
  const host::memory_block data = s.allocate(std::uint64_t{blocks} * Threads * 512);
  const io_buffer buffer = s.register_memory(data.data(), data.bytes());
  const host::memory_block record(s.client_place(), sizeof(block_queue_record));
  const host::memory_block queues(s.client_place(), blocks * sizeof(nvme_pcie_queue_pair<>));
  // The channels lie in memory of the GPU.
  std::vector<unsigned char> raw(blocks * sizeof(remote_channel));
  host::copy_out(s.client_place(), s.options().device, raw.data(), &s.channels()[0], raw.size());
  const auto* channels = reinterpret_cast<const remote_channel*>(raw.data());
  for (std::uint32_t k = 0; k < blocks; ++k) {
    const nvme_pcie_queue_pair<>* local = channels[k].queue().local();
    REQUIRE(local != nullptr);
    queues.write(k * sizeof *local, local, sizeof *local);
  }
  host::executor machine;
  machine.spawn(blocks, Threads,
                own_queues<Threads>{static_cast<const nvme_pcie_queue_pair<>*>(queues.data()),
                                    buffer, 30, static_cast<block_queue_record*>(record.data())});
  s.attach(machine);
  machine.run();
  block_queue_record seen;
  record.read(0, &seen, sizeof seen);
  CHECK(seen.failed == 0);
  CHECK(seen.wrong == 0);
  CHECK(seen.done == blocks * Threads * 30 * 2 / 3);
  s.unregister_memory(buffer);
}

}  // namespace

TEST_CASE("a GPU's blocks get the blocks that they wrote, for tools too") {
  for (const char* media : {"host", "hbm"}) {
    const std::string where = std::string("emu-nvme:?bytes=64M&lba=512&media=") + media;
    exchange_in_blocks<32>(where, 1);
    exchange_in_blocks<128>(where, 4);
    exchange_in_blocks<1024>(where, 2);
  }
}

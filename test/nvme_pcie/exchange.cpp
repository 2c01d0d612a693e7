/// Many lanes on one queue pair of the local controller, in every mode of the host runtime.
#include "nvme_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "stamped_blocks.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

struct run_shape {
  std::uint32_t blocks = 2;  ///< of the grid
  std::uint32_t threads = 4;
  std::uint32_t depth = 4;
  std::uint32_t workers = 2;
  std::uint32_t lanes = 1;  ///< of a worker
  std::uint32_t block_bytes = 4096;
  std::uint32_t rounds = 3;
};

std::string exchange(const simt::host::options& chosen, const run_shape& s) {
  using kernel = stamped_blocks<nvme_channel>;
  const std::uint32_t lanes = s.blocks * s.threads;
  const gnstor::host::memory_block data(gnstor::host::place::host, lanes * kernel::lane_bytes);
  nvme_fixture f({.depth = s.depth,
                  .workers = s.workers,
                  .block_bytes = s.block_bytes,
                  .bytes = std::uint64_t{lanes} * kernel::lane_bytes},
                 data.data(), data.bytes());
  stamped_record record;
  kernel k{f.line(),
           {reinterpret_cast<std::uint64_t>(data.data()), data.bytes(), nvme_fixture::key,
            nvme_fixture::key}};
  k.block_bytes = s.block_bytes;
  k.rounds = s.rounds;
  k.record = &record;
  simt::host::executor machine(chosen);
  machine.spawn(s.blocks, s.threads, k);
  machine.serve_in(simt::domain::nic, f.rig.node().shape.roles(), s.lanes, f.rig.stop(),
                   fw::nvme_service{f.rig.node()});
  const std::string thrown = run_to_end(machine);
  if (!thrown.empty()) return thrown;
  const fw::nvme_queue& q = f.rig.served();
  if (record.failed != 0) return "a command failed";
  if (record.wrong != 0) return "a block is not what was written";
  if (record.touched != 0) return "memory behind a buffer was changed";
  if (record.rounds != lanes * s.rounds) return "a lane did not come to its end";
  if (q.reads != record.rounds || q.writes != record.rounds) return "a command was done twice";
  return q.faults != 0 || q.bad_doorbells != 0 ? "the controller saw an address that is not mapped"
                                               : "";
}

}  // namespace

TEST_CASE("blocks come back as they were written, by any number of lanes and workers") {
  for (const std::uint32_t depth : {2u, 8u, 64u}) {
    for (const std::uint32_t lanes : {1u, 8u, 32u}) {
      CAPTURE(depth);
      CAPTURE(lanes);
      CHECK(exchange({}, {.blocks = 2,
                          .threads = 32,
                          .depth = depth,
                          .workers = 3,
                          .lanes = lanes,
                          .rounds = 6}) == "");
      CHECK(
          exchange(
              {},
              {.threads = 32, .depth = depth, .workers = 1, .lanes = lanes, .block_bytes = 512}) ==
          "");
    }
  }
}

TEST_CASE("every command is done once and its data is whole, seeded") {
  sweep(simt::host::mode::seeded, 60,
        [](const simt::host::options& chosen) { return exchange(chosen, {}); });
}

TEST_CASE("data is there before its answer, in the weak memory model") {
  sweep(simt::host::mode::weak, 30, [](const simt::host::options& chosen) {
    return exchange(chosen, {.blocks = 1, .threads = 3, .depth = 2, .rounds = 2});
  });
}

/// The whole data path: lanes, volume, channels, the NIC, four SSDs with two replicas, and back.
#include "volume_io.hpp"

#include "node_fixture.hpp"
#include "qp/seed_sweep.hpp"
#include <afa/copy_service.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

struct shape {
  std::uint32_t blocks = 2;
  std::uint32_t lanes = 2;
  std::uint32_t rounds = 1;
  std::uint32_t service_lanes = 1;
  bool apart = false;  ///< copy workers have a grid of their own
  node_size node{};
};

/// Runs lanes against a node. Says what went wrong, or nothing.
std::string ran(host::options chosen, shape s = {}) {
  s.node.buffer_blocks = s.blocks * s.lanes;
  node_fixture f(s.node);
  volume_io_record record;
  const volume_io body{.volume = f.volume(),
                       .channels = f.channels,
                       .channel_count = s.node.queues,
                       .connecting = f.connecting(),
                       .buffer = f.buffer,
                       .key = node_fixture::key,
                       .rounds = s.rounds,
                       .seed = static_cast<std::uint32_t>(chosen.seed),
                       .record = &record};
  chosen.step_budget = 50'000'000;
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, body);
  const auto where = s.node.same_device ? simt::domain::gpu0 : simt::domain::nic;
  const std::uint32_t elsewhere = s.apart ? s.node.copy_workers : 0;
  if (s.apart)
    machine.serve_in(where, elsewhere, s.service_lanes, *f.node.stop, fw::copy_service{f.node});
  machine.serve_in(where, f.node.shape.roles() - elsewhere, s.service_lanes, *f.node.stop,
                   fw::service{f.node, elsewhere});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (record.failed != 0) return "I/O failed: " + std::to_string(record.first_fault);
  if (record.wrong_own != 0) return "a lane did not read what it wrote";
  if (record.torn != 0) return "a block of two writes at once";
  if (record.not_zero != 0) return "a block never written is not zero";
  if (record.ended != s.blocks * s.lanes) return "a lane did not end";
  return {};
}

}  // namespace

TEST_CASE("what is written is read back, through one lane per firmware warp and through 32, fast") {
  for (const std::uint32_t lanes : {1u, 2u, 32u}) {
    CAPTURE(lanes);
    CHECK(ran({}, {.lanes = 8, .rounds = 4, .service_lanes = lanes, .node = {.pages = 512}}) == "");
    CHECK(
        ran({},
            {.blocks = 3,
             .lanes = 32,
             .rounds = 2,
             .service_lanes = lanes,
             .node = {.shards = 2, .queues = 2, .depth = 32, .pages = 1024, .copy_workers = 3}}) ==
        "");
  }
}

TEST_CASE("what is written is read back, seeded") {
  sweep(host::mode::seeded, 60, [](host::options o) { return ran(o); });
}

TEST_CASE("what is written is read back, weak") {
  sweep(host::mode::weak, 30, [](host::options o) { return ran(o); });
}

TEST_CASE("what is written is read back through firmware warps of several lanes, seeded") {
  sweep(host::mode::seeded, 12, [](host::options o) {
    return ran(o, {.lanes = 3, .service_lanes = 4, .node = {.ssds = 2, .copy_workers = 2}});
  });
}

TEST_CASE("what is written is read back through firmware warps of 32 lanes, weak") {
  sweep(host::mode::weak, 2,
        [](host::options o) { return ran(o, {.service_lanes = 32, .node = {.ssds = 2}}); });
}

TEST_CASE("what is written is read back by lanes of the node's own device, seeded") {
  sweep(host::mode::seeded, 30, [](host::options o) {
    return ran(o, {.rounds = 2, .node = {.ssds = 2, .depth = 2, .same_device = true}});
  });
}

TEST_CASE("what is written is read back by lanes of the node's own device, weak") {
  sweep(host::mode::weak, 15, [](host::options o) {
    return ran(o, {.lanes = 3, .node = {.ssds = 2, .same_device = true}});
  });
}

TEST_CASE("copy workers and all other engines serve a node in grids of their own, seeded") {
  sweep(host::mode::seeded, 20, [](host::options o) {
    return ran(o, {.service_lanes = 2, .apart = true, .node = {.ssds = 2, .copy_workers = 3}});
  });
}

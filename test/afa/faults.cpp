/// Faults drawn from the seed, between lanes and the real firmware: what each request reports, what
/// each read finds, and what a reset leaves behind.
// label: thorough
#include "fault_client.hpp"
#include "node_fixture.hpp"
#include "qp/seed_sweep.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint32_t clients = 4;
constexpr std::uint32_t pages = 24;
constexpr std::uint32_t depth = 4;

/// A node of one SSD behind two channels, the first behind a faulty wire.
struct fault_stage {
  explicit fault_stage(wire_fault fault, bool full_pool, std::uint32_t seed)
      : f({.ssds = 1, .queues = 2, .depth = depth, .pages = 128, .buffer_blocks = pages}),
        shadow(8192) {
    fw::queue_context& c = f.image.here(f.node.queues)[0];
    wire.lanes = c.at;
    c.at.completion_ring = reinterpret_cast<std::uint64_t>(shadow.data());
    c.at.doorbell_record = c.at.completion_ring + 4096;
    c.at.doorbell = c.at.completion_ring + 4096 + 128;
    auto* entries = reinterpret_cast<wire::mlx5::completion_entry*>(shadow.data());
    for (std::uint32_t k = 0; k < c.at.completion_entries; ++k)
      entries[k].tail = wire::mlx5::unwritten_tail;
    wire.context = f.node.queues;
    wire.regions = f.node.keys();
    wire.record = &seen;
    wire.request = &request;
    wire.timed_out = &record.timed_out;
    wire.stop = f.node.stop;
    wire.seed = seed;
    wire.fault = fault;
    page_pool::allocator_type::format(bitmap, pages * block_bytes);
    scene.channels = f.channels;
    scene.volume = f.info(volume_id(9));
    scene.pages = page_pool(reinterpret_cast<std::uint64_t>(f.buffer),
                            {node_fixture::key, node_fixture::key}, {bitmap, pages * block_bytes});
    scene.connecting = f.connecting();
    scene.fault = fault;
    scene.full_pool = full_pool;
    scene.seed = seed;
    scene.clients = clients;
    const bool loses = scene.kills() || fault == wire_fault::late;
    scene.patience_ns = loses ? 3'000'000 : ~std::uint64_t{0};
    scene.record = &record;
    scene.wire = &seen;
    scene.request = &request;
  }

  std::string run(host::options chosen) {
    chosen.step_budget = 50'000'000;
    // Real time in this mode: a sound answer has to come within it on a loaded machine, too.
    if (chosen.run == host::mode::fast && scene.patience_ns != ~std::uint64_t{0})
      scene.patience_ns *= 10;
    host::executor machine(chosen);
    machine.spawn(2, clients / 2, fault_client{scene});
    machine.spawn(1, 1, channel_reviver{scene});
    machine.spawn(1, 1, page_thief{scene});
    machine.serve_in(simt::domain::nic, f.node.shape.roles(), 1, *f.node.stop, fw::service{f.node});
    machine.serve_in(simt::domain::nic, 1, 1, *f.node.stop, wire);
    const std::string fault = run_to_end(machine);
    return fault.empty() ? judge() : fault;
  }

  std::string judge() {
    if (record.ended != clients) return "a lane did not end";
    if (record.unexpected != 0)
      return "a status that the fault does not explain: " + std::to_string(record.first_unexpected);
    if (record.wrong_data != 0) return "a read found what was not written";
    if (record.restarted != 0) return "the reset failed: " + std::to_string(record.restarted);
    if (record.stuck != 0) return "a page was lost, or a lane tried too often";
    if (seen.reused != 0) return "a slot was used again while its answer could still come";
    if (seen.overran != 0) return "the NIC answered without a receive";
    const channel_state& c = f.refs[0].counters();
    for (bounded entries{4 * depth}; entries && f.refs[0].poll();) continue;
    if (slots_in_use(f.image, f.refs[0]) != 0) return "a request slot was lost";
    if (c.unknown != seen.doubled) return "a duplicate was not recognised as one";
    if (scene.pages.allocator().usage().owned_bytes() != 0) return "a page was not given back";
    if (scene.fault == wire_fault::error && seen.victim == 1 && record.blamed > 1)
      return "two requests were blamed for the queue pair's end";
    if (scene.kills() && resets_in(c.phase) > 1) return "more than one reset";
    return {};
  }

  node_fixture f;
  aligned_memory shadow;
  std::uint64_t bitmap[8] = {};
  faulty_wire wire;
  fault_scene scene;
  fault_record record;
  wire_record seen;
  wire_request request;
};

std::string faulted(host::options chosen, wire_fault fault, bool full_pool = false) {
  fault_stage stage(fault, full_pool, static_cast<std::uint32_t>(chosen.seed));
  return stage.run(chosen);
}

/// A fault, and whether the pool runs dry, by seed.
std::string any_fault(host::options o) {
  const std::uint64_t draw = mix64(o.seed);
  const auto fault = static_cast<wire_fault>(draw % static_cast<std::uint64_t>(wire_fault::count));
  const std::string said = faulted(o, fault, (draw >> 32) % 4 == 0);
  return said.empty() ? said : said + " (fault " + std::to_string(static_cast<int>(fault)) + ")";
}

}  // namespace

TEST_CASE("each fault of these tests happens, and is reported, seeded") {
  fault_record total;
  wire_record did;
  std::uint64_t late = 0;
  std::uint64_t resets = 0;
  for (std::uint32_t k = 0; k < 6 * static_cast<std::uint32_t>(wire_fault::count); ++k) {
    CAPTURE(k);
    const auto fault = static_cast<wire_fault>(k % static_cast<std::uint32_t>(wire_fault::count));
    fault_stage stage(fault, k % 4 == 0, k);
    REQUIRE(stage.run({.run = host::mode::seeded, .seed = k}) == "");
    total.timed_out += stage.record.timed_out;
    total.blamed += stage.record.blamed;
    total.flushed += stage.record.flushed;
    total.reset += stage.record.reset;
    total.refused += stage.record.refused;
    total.full += stage.record.full;
    did.lost += stage.seen.lost;
    did.rung += stage.seen.rung;
    did.doubled += stage.seen.doubled;
    did.held += stage.seen.held;
    did.unready += stage.seen.unready;
    did.victim += stage.seen.victim;
    late += stage.f.refs[0].counters().late;
    resets += resets_in(stage.f.refs[0].counters().phase);
  }
  CHECK(did.lost != 0);
  CHECK(did.rung != 0);
  CHECK(did.doubled != 0);
  CHECK(did.held != 0);
  CHECK(did.unready != 0);
  CHECK(did.victim != 0);
  CHECK(total.timed_out != 0);
  CHECK(total.blamed != 0);
  CHECK(total.flushed != 0);
  CHECK(total.reset != 0);
  CHECK(total.refused != 0);
  CHECK(total.full != 0);
  CHECK(late != 0);
  CHECK(resets >= 12);
}

TEST_CASE("whatever the wire does, each request reports it and no read finds wrong data, fast") {
  for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(wire_fault::count); ++k) {
    CAPTURE(k);
    CHECK(faulted({.seed = k}, static_cast<wire_fault>(k), k % 2 == 0) == "");
  }
}

TEST_CASE("whatever the wire does, each request reports it and no read finds wrong data, seeded") {
  sweep(host::mode::seeded, 60, any_fault);
}

TEST_CASE("whatever the wire does, each request reports it and no read finds wrong data, weak") {
  sweep(host::mode::weak, 25, any_fault);
}

TEST_CASE("a channel that is reset while it works leaves nothing behind, seeded") {
  // Few schedules catch a command within the array when the reset comes.
  sweep(host::mode::seeded, 800, [](host::options o) { return faulted(o, wire_fault::sudden); });
}

TEST_CASE("a channel that is reset while it works leaves nothing behind, weak") {
  sweep(host::mode::weak, 40, [](host::options o) { return faulted(o, wire_fault::sudden); });
}

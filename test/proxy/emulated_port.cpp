/// Three machines in a row: lanes on a proxy queue pair, the proxy thread with an mlx5 queue pair
/// behind it, and a peer that takes the mlx5 bytes as a NIC does.
#include "proxy/emulated_port.hpp"

#include "proxy_fixture.hpp"
#include "proxy_lane.hpp"
#include "qp/scripted_peer.hpp"
#include "qp/seed_sweep.hpp"
#include "qp/traffic.hpp"

namespace gnstor::test {
namespace {

struct shape {
  std::uint32_t depth = 4;
  std::uint32_t blocks = 2;
  std::uint32_t lanes = 2;
  std::uint32_t rounds = 3;
  std::uint32_t one_sided_of_8 = 2;
  std::uint32_t nops_of_8 = 1;
};

std::string ran(host::options chosen, shape s = {}) {
  const std::uint32_t total = s.blocks * s.lanes * s.rounds;
  std::vector<letter> letters(total);
  std::vector<parcel> parcels(total);
  std::vector<std::uint64_t> owners(total);
  traffic_record record;
  queue_fixture behind(s.depth);
  proxy_fixture<gnstor::host::emulated_port> queue(s.depth, behind.ref());
  gnstor::host::proxy_task* task = &queue.engine;
  peer_queue served{behind.attributes(), {}};
  std::uint32_t stop = 0;

  const traffic<proxy_queue_pair<>> body{.queue = queue.ref(),
                                         .rounds = s.rounds,
                                         .one_sided_of_8 = s.one_sided_of_8,
                                         .nops_of_8 = s.nops_of_8,
                                         .seed = static_cast<std::uint32_t>(chosen.seed),
                                         .key = queue_fixture::key,
                                         .letters = letters.data(),
                                         .parcels = parcels.data(),
                                         .owners = owners.data(),
                                         .record = &record};
  const scripted_peer peer{.queues = &served,
                           .regions = behind.regions(),
                           .letters = letters.data(),
                           .letter_count = total,
                           .stop = &stop};
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, body);
  machine.serve_in(simt::domain::cpu, 1, 1, stop, proxy_lane{&task, &stop});
  machine.serve_in(simt::domain::nic, 1, 1, stop, peer);
  const std::string fault = run_to_end(machine);
  if (!queue.engine.fault().empty()) return queue.engine.fault();
  if (!fault.empty()) return fault;
  if (served.seen.overruns != 0) return "a doorbell beyond the ring, or back";
  if (served.seen.bad_entries != 0) return "the NIC met an entry that was not complete";
  if (served.seen.bad_letters != 0) return "the NIC met a request before its data";
  if (record.stuck != 0) return "a request was never completed";
  if (record.unknown != 0) return "a completion of no request";
  if (record.wrong_kind != 0) return "a failure that nobody caused";
  if (record.bad_replies != 0) return "a completion came before its data";
  for (const parcel& p : parcels) {
    if (p.delivered != 1) return "a completion was delivered twice, or not at all";
  }
  return {};
}

constexpr std::uint64_t seeded_share = 400;
constexpr std::uint64_t weak_share = 150;

}  // namespace

TEST_CASE("requests go through the proxy to a NIC and back, fast") {
  for (const std::uint32_t depth : {2u, 4u, 16u, 128u}) {
    CAPTURE(depth);
    CHECK(ran({}, {.depth = depth, .blocks = 8, .lanes = 2, .rounds = 40}) == "");
  }
  CHECK(ran({}, {.lanes = 4, .rounds = 80, .one_sided_of_8 = 0, .nops_of_8 = 0}) == "");
  CHECK(ran({}, {.lanes = 4, .rounds = 80, .one_sided_of_8 = 0, .nops_of_8 = 8}) == "");
}

TEST_CASE("requests go through the proxy to a NIC and back, seeded") {
  sweep(host::mode::seeded, seeded_share, [](host::options o) { return ran(o); });
}

TEST_CASE("requests go through the proxy to a NIC and back, weak") {
  sweep(host::mode::weak, weak_share, [](host::options o) { return ran(o, {.rounds = 6}); });
}

TEST_CASE("capsules alone do not fill the queue pair behind the port for ever, seeded") {
  sweep(host::mode::seeded, seeded_share / 2, [](host::options o) {
    return ran(o, {.depth = 2, .rounds = 8, .one_sided_of_8 = 0, .nops_of_8 = 0});
  });
}

/// A proxy's queue over a port to a queue pair, and that one as its NIC sees it, step by step.
struct relay {
  explicit relay(std::uint32_t depth) : behind(depth), queue(depth, behind.ref()) {}

  void settle() {
    int ticks = 0;
    for (; queue.engine.tick(); ++ticks) REQUIRE(ticks < 100);
  }
  /// The NIC fails the entry `index`.
  void fail(std::uint64_t index, wire::mlx5::syndrome why) {
    nic.complete(completions++, wire::mlx5::cqe_opcode::requester_error, index, 0, why);
  }

  queue_fixture behind;
  proxy_fixture<gnstor::host::emulated_port> queue;
  fw::queue_reader nic{behind.attributes(), behind.regions()};
  std::uint64_t completions = 0;
};

TEST_CASE("a failed request is reported by its own index, and those behind it are flushed") {
  relay r(8);
  // Six capsules, and a NOP of the port's own behind the fourth.
  REQUIRE(r.queue.ref().try_reserve(6));
  for (std::uint64_t k = 0; k < 6; ++k) {
    wire::nvme::submission_entry e{};
    e.command_id = static_cast<std::uint16_t>(k);
    r.queue.ref().write_send(k, e);
  }
  r.settle();
  CHECK(r.nic.send_tail() == 7);
  CHECK(r.nic.request(4).opcode == wire::mlx5::opcode::nop);
  r.nic.complete(r.completions++, wire::mlx5::cqe_opcode::requester, 4, 0);
  r.fail(5, wire::mlx5::syndrome::remote_access_error);
  r.fail(6, wire::mlx5::syndrome::flushed);
  r.settle();
  for (const std::uint64_t index : {4, 5}) {
    const completion c = r.queue.poll();
    CHECK(c.kind == completion_kind::failed);
    CHECK(c.index == index);
    CHECK(r.queue.ref().sent_id(c.index).value == index);
    CHECK(c.outcome.syndrome == (index == 4 ? 0x13 : 0x05));
  }
  CHECK(r.queue.poll().kind == completion_kind::none);
  CHECK(r.queue.engine.dead());
}

TEST_CASE("a transfer and a NOP that are flushed are reported, each by its index") {
  relay r(8);
  REQUIRE(r.queue.ref().try_reserve(3));
  r.queue.ref().write_send(0, {});
  r.queue.ref().write_one_sided(1, {});
  r.queue.ref().write_nop(2);
  r.settle();
  r.fail(0, wire::mlx5::syndrome::remote_access_error);
  for (const std::uint64_t index : {1, 2}) r.fail(index, wire::mlx5::syndrome::flushed);
  r.settle();
  for (const std::uint64_t index : {0, 1, 2}) {
    const completion c = r.queue.poll();
    CHECK(c.kind == completion_kind::failed);
    CHECK(c.index == index);
  }
  CHECK(r.queue.poll().kind == completion_kind::none);
}

TEST_CASE("an error that meets the port's own NOP breaks the queue, with its syndrome") {
  relay r(2);
  REQUIRE(r.queue.ref().try_reserve(1));
  r.queue.ref().write_send(0, {});
  r.queue.engine.tick();
  r.fail(1, wire::mlx5::syndrome::transport_retry_exceeded);
  r.queue.engine.tick();
  const completion c = r.queue.poll();
  CHECK(c.kind == completion_kind::broken);
  CHECK(c.outcome.syndrome == 0x15);
}

}  // namespace gnstor::test

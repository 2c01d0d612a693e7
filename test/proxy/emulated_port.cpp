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
  basic_queue_fixture<nic_queue_pair> behind(s.depth);
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

/// Blocks of an entry: the NIC counts them.
constexpr std::uint32_t two = nic_queue_pair::blocks;

TEST_CASE("a failed request is told by its own index, and those behind it are flushed") {
  basic_queue_fixture<nic_queue_pair> behind(8);
  proxy_fixture<gnstor::host::emulated_port> queue(8, behind.ref());
  fw::queue_attributes at = behind.attributes();
  fw::queue_reader nic(at, behind.regions());
  std::uint64_t completions = 0;
  const auto settle = [&] {
    int ticks = 0;
    for (; queue.engine.tick(); ++ticks) REQUIRE(ticks < 100);
  };
  // Six capsules, and a NOP of the port's own behind the fourth.
  REQUIRE(queue.ref().try_reserve(6));
  for (std::uint64_t k = 0; k < 6; ++k) {
    wire::nvme::submission_entry e{};
    e.command_id = static_cast<std::uint16_t>(k);
    queue.ref().write_send(k, e);
  }
  settle();
  CHECK(nic.send_tail() == 7 * two);
  CHECK(nic.request(4 * two).opcode == wire::mlx5::opcode::nop);
  nic.complete(completions++, wire::mlx5::cqe_opcode::requester, 4 * two + 1, 0);
  using wire::mlx5::syndrome;
  for (const auto why : {syndrome::remote_access_error, syndrome::flushed}) {
    nic.complete(completions, wire::mlx5::cqe_opcode::requester_error, (4 + completions) * two, 0,
                 why);
    ++completions;
  }
  settle();
  for (const std::uint64_t index : {4, 5}) {
    const completion c = queue.poll();
    CHECK(c.kind == completion_kind::failed);
    CHECK(c.index == index);
    CHECK(queue.ref().sent_id(c.index).value == index);
    CHECK(c.outcome.syndrome == (index == 4 ? 0x13 : 0x05));
  }
  CHECK(queue.poll().kind == completion_kind::none);
  CHECK(queue.engine.dead());
}

TEST_CASE("a transfer or a NOP of two blocks that is flushed is told of once") {
  basic_queue_fixture<nic_queue_pair> behind(8);
  proxy_fixture<gnstor::host::emulated_port> queue(8, behind.ref());
  fw::queue_attributes at = behind.attributes();
  fw::queue_reader nic(at, behind.regions());
  REQUIRE(queue.ref().try_reserve(3));
  queue.ref().write_send(0, {});
  queue.ref().write_one_sided(1, {});
  queue.ref().write_nop(2);
  for (int ticks = 0; queue.engine.tick(); ++ticks) REQUIRE(ticks < 100);
  using wire::mlx5::syndrome;
  std::uint64_t completions = 0;
  for (const std::uint64_t block : {0, 2, 3, 4, 5}) {
    const auto why = block == 0 ? syndrome::remote_access_error : syndrome::flushed;
    nic.complete(completions++, wire::mlx5::cqe_opcode::requester_error, block, 0, why);
  }
  for (int ticks = 0; queue.engine.tick(); ++ticks) REQUIRE(ticks < 100);
  for (const std::uint64_t index : {0, 1, 2}) {
    const completion c = queue.poll();
    CHECK(c.kind == completion_kind::failed);
    CHECK(c.index == index);
  }
  CHECK(queue.poll().kind == completion_kind::none);
}

TEST_CASE("an error that meets the port's own NOP breaks the queue, with its syndrome") {
  basic_queue_fixture<nic_queue_pair> behind(2);
  proxy_fixture<gnstor::host::emulated_port> queue(2, behind.ref());
  fw::queue_attributes at = behind.attributes();
  fw::queue_reader nic(at, behind.regions());
  REQUIRE(queue.ref().try_reserve(1));
  queue.ref().write_send(0, {});
  queue.engine.tick();
  nic.complete(0, wire::mlx5::cqe_opcode::requester_error, two + 1, 0,
               wire::mlx5::syndrome::transport_retry_exceeded);
  queue.engine.tick();
  const completion c = queue.poll();
  CHECK(c.kind == completion_kind::broken);
  CHECK(c.outcome.syndrome == 0x15);
}

}  // namespace gnstor::test

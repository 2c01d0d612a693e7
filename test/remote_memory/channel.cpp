/// Memory channels against a model NIC: order, room, deadlines, and a queue pair that dies.
#include "exchange.hpp"
#include "word_rig.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;
using wire::mlx5::syndrome;

namespace {

constexpr std::uint64_t share = 300;

/// One exchange whose NIC fails some entry of some queue, by seed.
std::string broken(host::options o, exchange_size s) {
  const auto at = mix64(o.seed) % (s.all_lanes() * s.rounds);
  return exchanged(
      o, s, [&](word_rig& r) { r.queues[0].break_at = at; },
      [&](word_rig& r) -> std::string {
        const std::string fault = r.judge();
        if (!fault.empty()) return fault;
        const lane_record t = r.total();
        if (r.channels[0].phase() != channel_phase::error) return "the channel does not know it";
        if (t.failed != 1) return "not one transfer was to blame";
        if (t.vague != 0) return "a lane was flushed without the reason";
        if (t.failed + t.flushed + t.unsent == 0) return "no lane was informed";
        if (t.failed == 1 &&
            t.syndrome != static_cast<std::uint64_t>(syndrome::remote_access_error))
          return "the syndrome is not the NIC's";
        return {};
      });
}

/// One exchange whose NIC goes on with an entry only after a lane has given it up.
std::string late(host::options o, exchange_size s) {
  return exchanged(
      o, s,
      [&](word_rig& r) {
        r.queues[0].hold_from = mix64(o.seed) % (s.all_lanes() * s.rounds);
        r.client.let_go = &r.queues[0].let_go;
        r.client.timeout_ns = 20'000;
      },
      [](word_rig& r) -> std::string {
        const std::string fault = r.judge_all_done();
        if (!fault.empty()) return fault;
        const lane_record t = r.total();
        if (t.timed_out == 0) return "nobody gave up";
        if (t.late != t.timed_out) return "a transfer given up did not end";
        if (r.channels[0].counters().timed_out != t.timed_out) return "the count is wrong";
        return {};
      });
}

one_sided some_transfer(word_rig& r) {
  one_sided t;
  t.local_address = reinterpret_cast<std::uint64_t>(r.client.local);
  t.remote_address = r.client.remote;
  t.lkey = t.rkey = word_rig::key;
  t.bytes = 8;
  return t;
}

}  // namespace

TEST_CASE("every lane reads back what it wrote, fast") {
  CHECK(exchanged({}) == "");
  CHECK(exchanged({}, {.blocks = 3, .lanes = 32, .rounds = 9, .channels = 2, .depth = 64}) == "");
  CHECK(exchanged({}, {.blocks = 3, .lanes = 32, .rounds = 9, .channels = 1, .depth = 2}) == "");
}

TEST_CASE("every lane reads back what it wrote, seeded") {
  sweep(host::mode::seeded, share, [](host::options o) { return exchanged(o); });
}

TEST_CASE("every lane reads back what it wrote, weak") {
  sweep(host::mode::weak, share, [](host::options o) { return exchanged(o); });
}

TEST_CASE("a NIC on the lanes' own device is reached at device scope, weak") {
  sweep(host::mode::weak, share,
        [](host::options o) { return exchanged(o, {.same_device = true}); });
}

TEST_CASE("indices of a queue go on where its 16-bit counters wrap") {
  sweep(host::mode::seeded, 40,
        [](host::options o) { return exchanged(o, {.first_index = 65536 - 3}); });
}

TEST_CASE("a queue pair that dies ends every transfer within its deadline, fast") {
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    CAPTURE(seed);
    CHECK(broken({.seed = seed}, {.blocks = 2, .lanes = 32, .rounds = 3, .depth = 16}) == "");
  }
}

TEST_CASE("a queue pair that dies ends every transfer within its deadline, seeded") {
  sweep(host::mode::seeded, share, [](host::options o) { return broken(o, {}); });
}

TEST_CASE("a queue pair that dies ends every transfer within its deadline, weak") {
  sweep(host::mode::weak, share, [](host::options o) { return broken(o, {}); });
}

TEST_CASE("a transfer given up can be asked about until it is over, seeded") {
  sweep(host::mode::seeded, share, [](host::options o) { return late(o, {}); });
}

TEST_CASE("a full queue refuses the next transfer and loses none") {
  word_rig r({.depth = 2}, 1);
  const remote_memory_channel c = r.channels[0];
  const one_sided t = some_transfer(r);
  CHECK(c.submit(t).value.index == 0);
  CHECK(c.submit(t).value.index == 1);
  CHECK(c.submit(t).status.code == status_code::would_block);
  const status s = c.execute(t, simt::within(1'000'000));
  CHECK(s.code == status_code::no_memory);
  CHECK_FALSE(s.left_behind());
  CHECK(c.counters().submitted == 2);
}

TEST_CASE("what came before a failed transfer has succeeded, what comes behind it is flushed") {
  word_rig r({.depth = 4}, 1);
  const remote_memory_channel c = r.channels[0];
  const one_sided t = some_transfer(r);
  transfer_ticket sent[4];
  for (transfer_ticket& s : sent) s = c.submit(t).value;
  const fw::queue_reader nic(r.queues[0].at, r.nic.regions);
  nic.complete(0, wire::mlx5::cqe_opcode::requester_error, 2, 0, syndrome::remote_access_error);
  CHECK(c.try_wait(sent[0]).ok());
  CHECK(c.try_wait(sent[1]).ok());
  const status blamed = c.try_wait(sent[2]);
  CHECK(blamed.code == status_code::transport_error);
  CHECK(blamed.syndrome == static_cast<std::uint8_t>(syndrome::remote_access_error));
  CHECK(c.try_wait(sent[3]).code == status_code::flushed);
  CHECK(c.try_wait(sent[3]).left_behind());
  nic.complete(1, wire::mlx5::cqe_opcode::requester_error, 3, 0, syndrome::flushed);
  CHECK(c.try_wait(sent[3]).code == status_code::flushed);
  const status refused = c.submit(t).status;
  CHECK(refused.code == status_code::flushed);
  CHECK_FALSE(refused.left_behind());
  CHECK(refused.syndrome == static_cast<std::uint8_t>(syndrome::remote_access_error));
}

TEST_CASE("a flushed transfer says nothing of those before it") {
  word_rig r({.depth = 4}, 1);
  const remote_memory_channel c = r.channels[0];
  const transfer_ticket first = c.submit(some_transfer(r)).value;
  const transfer_ticket second = c.submit(some_transfer(r)).value;
  const fw::queue_reader nic(r.queues[0].at, r.nic.regions);
  nic.complete(0, wire::mlx5::cqe_opcode::requester_error, second.index, 0, syndrome::flushed);
  CHECK(c.try_wait(second).code == status_code::flushed);
  CHECK(c.try_wait(first).code == status_code::flushed);
}

TEST_CASE("a channel that is not open, or closed, sends nothing") {
  word_rig r({.depth = 4}, 1);
  memory_channel_state fresh{};
  const remote_memory_channel c(r.channels[0].queue(), &fresh);
  CHECK(c.submit(some_transfer(r)).status.code == status_code::not_ready);
  c.open();
  CHECK(c.submit(some_transfer(r)));
  c.close();
  CHECK(c.submit(some_transfer(r)).status.code == status_code::closed);
}

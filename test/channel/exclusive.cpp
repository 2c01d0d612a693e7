/// Channels that belong to one warp each, against a scripted peer.
// label: thorough
#include "exchange_run.hpp"
#include "owned_exchange.hpp"
#include <gnstor/channel/doorbell/batch.hpp>
#include <gnstor/channel/doorbell/manual.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// As `exchange_shape`: block k has channel k.
constexpr exchange_shape two_warps{.blocks = 2, .lanes = 3, .rounds = 3, .channels = 2, .depth = 4};

template <doorbell_policy Doorbell, class Channel>
std::string run_owned(host::options chosen, const exchange_shape& s,
                      basic_exchange_fixture<Channel>& f, bool in_a_row = false) {
  owned_exchange<Doorbell, Channel> client;
  static_cast<exchange<Channel>&>(client) = f.client;
  client.in_a_row = in_a_row;
  chosen.step_budget = 10'000'000;
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, client);
  machine.serve_in(s.same_device ? simt::domain::gpu0 : simt::domain::nic, 1, s.channels,
                   *f.peer.stop, f.peer);
  return run_to_end(machine);
}

/// One exchange of warps that own their channels; `prepare` may spoil something.
template <doorbell_policy Doorbell = doorbell::leader_warp, class Channel = mlx5_channel,
          class Prepare>
std::string owned(host::options chosen, exchange_shape s, Prepare prepare) {
  basic_exchange_fixture<Channel> f(s, static_cast<std::uint32_t>(chosen.seed));
  prepare(f);
  const std::string fault = run_owned<Doorbell>(chosen, s, f);
  return fault.empty() ? f.judge() : fault;
}
template <doorbell_policy Doorbell = doorbell::leader_warp, class Channel = mlx5_channel>
std::string owned(host::options chosen, exchange_shape s = two_warps) {
  return owned<Doorbell, Channel>(chosen, s, [](basic_exchange_fixture<Channel>&) {});
}

/// The same, each lane through its requests alone.
template <class Channel = mlx5_channel>
std::string owned_in_a_row(host::options chosen, exchange_shape s = two_warps) {
  basic_exchange_fixture<Channel> f(s, static_cast<std::uint32_t>(chosen.seed));
  const std::string fault = run_owned<doorbell::leader_warp>(chosen, s, f, true);
  return fault.empty() ? f.judge() : fault;
}

std::uint32_t any_request(host::options o) {
  return static_cast<std::uint32_t>(mix64(o.seed) % two_warps.requests());
}

/// Plays the NIC once the peer has ended and everything was taken: answers one command of the only
/// channel.
void answer(exchange_fixture& f, command_id id) {
  const fw::queue_attributes& at = f.peer.queues[0].at;
  fw::queue_reader reader(at, f.peer.regions);
  const auto& state = *reinterpret_cast<const mlx5_queue_state*>(
      at.doorbell_record - offsetof(mlx5_queue_state, doorbell_record));
  wire::nvme::completion_entry response{};
  response.command_id = id.value;
  REQUIRE(reader.respond(state.consumed, state.received, response));
}

/// The command that was given up and never answered.
command_id left_behind(const mlx5_channel& c) {
  const auto* slots = reinterpret_cast<const detail::request_slot*>(&c.counters() + 1);
  const std::uint32_t depth = c.queue().depth();
  for (std::uint32_t k = 0; k < depth; ++k) {
    if ((slots[k].phase & 0xff) == static_cast<std::uint64_t>(detail::request_phase::abandoned))
      return command_id(static_cast<std::uint16_t>((slots[k].phase >> 8) * depth + k));
  }
  FAIL("nothing was left behind");
  return {};
}

}  // namespace

TEST_CASE("a warp's own channel gives every request its own answer, fast") {
  for (const std::uint32_t depth : {32u, 128u}) {
    CHECK(owned({}, {.blocks = 3, .lanes = 32, .rounds = 40, .channels = 3, .depth = depth}) == "");
  }
  CHECK(owned({}, {.blocks = 1, .lanes = 1, .rounds = 200, .channels = 1, .depth = 2}) == "");
}

TEST_CASE("a warp's own channel gives every request its own answer, seeded") {
  sweep(host::mode::seeded, 300, [](host::options o) { return owned(o); });
}

TEST_CASE("a warp's own channel gives every request its own answer, weak") {
  sweep(host::mode::weak, 200, [](host::options o) { return owned(o); });
}

TEST_CASE("a warp's own channel of a session's kind gives every request its own answer") {
  const auto turns = [](host::options o) { return owned<doorbell::leader_warp, nic_channel>(o); };
  const auto row = [](host::options o) { return owned_in_a_row<nic_channel>(o); };
  sweep(host::mode::seeded, 150, turns);
  sweep(host::mode::seeded, 100, row);
  sweep(host::mode::weak, 100, turns);
  sweep(host::mode::weak, 80, row);
}

TEST_CASE("on a warp's own channel lanes go through their requests alone, seeded") {
  sweep(host::mode::seeded, 150, [](host::options o) { return owned_in_a_row(o); });
  sweep(host::mode::seeded, 50, [](host::options o) {
    return owned_in_a_row(o, {.blocks = 1, .lanes = 7, .rounds = 3, .channels = 1, .depth = 4});
  });
}

TEST_CASE("on a warp's own channel lanes go through their requests alone, weak") {
  exchange_shape s = two_warps;
  s.same_device = true;
  sweep(host::mode::weak, 60, [](host::options o) { return owned_in_a_row(o); });
  sweep(host::mode::weak, 40, [&](host::options o) { return owned_in_a_row(o, s); });
}

TEST_CASE("a warp's own channel takes responses from their completions, seeded") {
  exchange_shape s = two_warps;
  s.scatter = true;
  sweep(host::mode::seeded, 100, [&](host::options o) { return owned(o, s); });
}

TEST_CASE("a warp's own channel reaches a NIC on its own device at device scope, weak") {
  exchange_shape s = two_warps;
  s.same_device = true;
  sweep(host::mode::weak, 100, [&](host::options o) { return owned(o, s); });
}

TEST_CASE("a warp's own channel is rung as its policy says, seeded") {
  sweep(host::mode::seeded, 100, [](host::options o) {
    const std::string fault = owned<doorbell::batch<3>>(o);
    return fault.empty() ? owned<doorbell::manual>(o) : fault;
  });
}

TEST_CASE("on a warp's own channel more lanes than request slots share them, seeded") {
  sweep(host::mode::seeded, 100, [](host::options o) {
    return owned(o, {.blocks = 1, .lanes = 7, .rounds = 3, .channels = 1, .depth = 4});
  });
}

TEST_CASE("on a warp's own channel silence times out for the lane that asked, seeded") {
  sweep(host::mode::seeded, 200, [](host::options o) {
    return owned(o, two_warps, [&](exchange_fixture& f) { f.client.silent = any_request(o); });
  });
}

TEST_CASE("on a warp's own channel a broken queue pair ends every request, seeded") {
  for (const ask how : {ask::break_send, ask::break_receive}) {
    sweep(host::mode::seeded, 100, [&](host::options o) {
      return owned(o, two_warps, [&](exchange_fixture& f) {
        f.break_at(any_request(o), how, wire::mlx5::syndrome::remote_access_error);
      });
    });
  }
  // Only receives are flushed: the peer, or the connection manager, has ended the queue pair.
  sweep(host::mode::seeded, 100, [&](host::options o) {
    return owned(o, two_warps, [&](exchange_fixture& f) {
      f.break_at(any_request(o), ask::break_receive, wire::mlx5::syndrome::flushed);
    });
  });
}

TEST_CASE("two warps on one exclusive channel are found out in a debug build") {
  exchange_fixture f({.blocks = 2, .lanes = 2, .rounds = 1, .channels = 1}, 1);
  const mlx5_channel one = *f.client.channels;
  one.counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
  struct poll_once {
    mlx5_channel channel;
    void operator()(simt::lane<>& lane) const {
      (void)exclusive_channel(lane.warp(), channel).poll(lane.warp());
    }
  };
  host::executor machine;
  machine.spawn(2, 2, poll_once{one});
  CHECK(run_to_end(machine).find("is_owner") != std::string::npos);
}

TEST_CASE("a warp hands its channel on by whichever of its lanes, seeded") {
  sweep(host::mode::seeded, 100, [](host::options o) {
    exchange_fixture f({.blocks = 2, .lanes = 4, .rounds = 1, .channels = 1}, 1);
    f.client.channels->counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
    struct pass_on {
      mlx5_channel channel;
      std::uint32_t* passed;
      void operator()(simt::lane<>& lane) const {
        const device_word<std::uint32_t> released(*passed);
        if (lane.block() == 1) {
          for (bounded looks{1'000'000}; looks && released.load(acquire) == 0;) simt::pause();
        }
        exclusive_channel mine(lane.warp(), channel);
        (void)mine.poll(lane.warp());
        mine.release(lane.warp());
        if (lane.block() == 0 && lane.thread() == 1) released.store(1, release);
      }
    };
    host::executor machine(o);
    machine.spawn(2, 4, pass_on{*f.client.channels, f.image.take<std::uint32_t>()});
    return run_to_end(machine);
  });
}

TEST_CASE("a late answer to an asynchronous operation's part leaves a warp's channel usable") {
  exchange_fixture f({.blocks = 1, .lanes = 1, .rounds = 1, .channels = 1, .depth = 8}, 1);
  const mlx5_channel c = *f.client.channels;
  c.counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
  c.queue().post_receives();
  const auto io = async_io(c);
  // Long enough that the part is sent before, however busy this machine is.
  const result<ticket> operation = io.open(callback_id(0), 0, simt::within(100'000'000));
  REQUIRE(operation);
  REQUIRE(io.try_add(operation.value, detail::io_step{}).ok());
  io.end(operation.value, status{});
  CHECK(io.wait(operation.value, simt::within(500'000'000)).code == status_code::timed_out);
  const simt::group g = simt::group::warp();
  exclusive_channel mine(g, c);
  answer(f, left_behind(c));
  CHECK(mine.poll(g));
  const result<ticket> sent = mine.submit(g, {});
  REQUIRE(sent);
  mine.release(g);
  CHECK(c.counters().late == 1);
}

TEST_CASE("a warp's dead channel refuses without leaving anything behind") {
  exchange_fixture f({.blocks = 1, .lanes = 1, .rounds = 1, .channels = 1, .depth = 8}, 1);
  const mlx5_channel c = *f.client.channels;
  c.counters().phase = static_cast<std::uint32_t>(channel_phase::error);
  c.counters().first_error = status::make(status_code::transport_error, reporter::nic).pack();
  const simt::group g = simt::group::warp();
  exclusive_channel mine(g, c);
  for (const status s : {mine.submit(g, {}).status, mine.execute(g, {}, deadline::never())}) {
    CHECK(s.code == status_code::flushed);
    CHECK(!s.left_behind());
  }
}

TEST_CASE(
    "a submit without room announces what takes it, whatever the policy of a warp's channel") {
  exchange_fixture f({.blocks = 1, .lanes = 1, .rounds = 1, .channels = 1, .depth = 4}, 1);
  const mlx5_channel c = *f.client.channels;
  c.counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
  c.queue().post_receives();
  const simt::group g = simt::group::warp();
  exclusive_channel mine(g, c.with<doorbell::manual>());
  for (int k = 0; k < 4; ++k) REQUIRE(mine.submit(g, {}));
  CHECK(c.queue().announced() == 0);
  CHECK(mine.submit(g, {}).status.code == status_code::would_block);
  mine.save(g);
  CHECK(c.queue().announced() == 4);
}

TEST_CASE("a channel goes from a warp to any lanes and back, late answers included") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const host::options o{.run = host::mode::seeded, .seed = seed};
    const exchange_shape s{.blocks = 1, .lanes = 3, .rounds = 4, .channels = 1, .depth = 8};
    exchange_fixture f(s, static_cast<std::uint32_t>(seed));
    f.client.silent = 5;
    REQUIRE(run_owned<doorbell::leader_warp>(o, s, f) == "");
    REQUIRE(f.judge() == "");
    CHECK(slots_in_use(f.image, *f.client.channels) == 1);
    CHECK(f.client.channels->counters().owner == 0);
    const mlx5_channel& c = *f.client.channels;
    answer(f, left_behind(c));
    CHECK(c.poll());
    CHECK(slots_in_use(f.image, c) == 0);
    CHECK(c.counters().late > 0);
    for (std::uint32_t k = 0; k < 3 * s.depth; ++k) {
      const result<ticket> sent = c.submit({});
      REQUIRE(sent);
      answer(f, sent.value.id);
      REQUIRE(c.wait(sent.value, deadline::never()).ok());
    }
  }
}

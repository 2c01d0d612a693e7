/// A channel that is reset while lanes send, poll, wait and give up.
#include "channel_image.hpp"
#include "qp/seed_sweep.hpp"
#include "restart_race.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

struct restart_shape {
  std::uint32_t blocks = 2;
  std::uint32_t lanes = 2;
  std::uint32_t rounds = 2;
  std::uint32_t depth = 4;
};

/// Runs lanes against resets. Says what went wrong, or nothing.
template <class Channel = mlx5_channel>
std::string restarted(host::options chosen, restart_record& r, restart_shape s = {}) {
  memory_image image(16384 + mlx5_queue_layout::of(s.depth, 2).bytes + Channel::bytes(s.depth));
  fw::memory_region regions[2] = {};
  regions[1] = {0, ~std::uint64_t{0},  fw::local_write | fw::remote_read | fw::remote_write,
                1, queue_fixture::key, 0};
  fw::queue_attributes at;
  const Channel channel = make_channel<Channel>(image, s.depth, 5, queue_fixture::key, at);
  std::uint32_t request = 0;
  std::uint32_t stop = 0;
  const restart_scene<Channel> scene{.channel = channel,
                                     .at = at,
                                     .regions = fw::region_table(regions, 2),
                                     .request = &request,
                                     .stop = &stop,
                                     .seed = static_cast<std::uint32_t>(chosen.seed),
                                     .lanes = s.blocks * s.lanes,
                                     .record = &r};
  chosen.step_budget = 3'000'000;
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, restart_client<Channel>{scene, s.rounds});
  machine.spawn(1, 1, restart_host<Channel>{scene});
  machine.serve_in(simt::domain::nic, 1, 1, stop, restart_peer<Channel>{scene});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (r.bad_entries != 0) return "the NIC met an entry that was overwritten or not complete";
  if (r.overruns != 0) return "a doorbell beyond the ring, or back";
  if (r.early != 0) return "a command before Connect";
  if (r.slot_taken != 0) return "two commands in one slot";
  if (r.wrong_answer != 0) return "a request got another one's answer";
  if (r.unexpected != 0) return "a status that a reset does not explain";
  if (r.failed_resets != 0) return "a reset failed";
  if (r.undead != 0) return "a channel died whose queue pair did not";
  if (r.ok != s.blocks * s.lanes * s.rounds) return "a request did not end";
  if (r.blamed > r.breaks) return "two requests were blamed for the queue pair's end";
  if (slots_in_use(image, channel) != 0) return "a request slot was lost";
  return {};
}
template <class Channel = mlx5_channel>
std::string restarted(host::options chosen) {
  restart_record r;
  return restarted<Channel>(chosen, r);
}

}  // namespace

TEST_CASE("lanes use a channel while it is reset, and each request ends once, fast") {
  restart_record r;
  CHECK(restarted({}, r, {.blocks = 3, .lanes = 32, .rounds = 20, .depth = 16}) == "");
  CHECK(r.resets != 0);
}

TEST_CASE("lanes use a channel while it is reset, and each request ends once, seeded") {
  sweep(host::mode::seeded, 400, [](host::options o) { return restarted(o); });
}

TEST_CASE("lanes use a channel while it is reset, and each request ends once, weak") {
  sweep(host::mode::weak, 250, [](host::options o) { return restarted(o); });
}

TEST_CASE("a channel of a session's kind is reset while lanes use it, seeded and weak") {
  sweep(host::mode::seeded, 200, [](host::options o) { return restarted<nic_channel>(o); });
  sweep(host::mode::weak, 150, [](host::options o) { return restarted<nic_channel>(o); });
}

TEST_CASE("resets meet requests in every state, seeded") {
  restart_record r;
  restart_record sum;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    r = {};
    REQUIRE(restarted({.run = host::mode::seeded, .seed = seed}, r) == "");
    sum.resets += r.resets;
    sum.breaks += r.breaks;
    sum.blamed += r.blamed;
    sum.flushed += r.flushed;
    sum.reset += r.reset;
    sum.refused += r.refused;
  }
  CHECK(sum.resets > 40);
  CHECK(sum.breaks != 0);
  CHECK(sum.blamed != 0);
  CHECK(sum.flushed != 0);
  CHECK(sum.reset != 0);
  CHECK(sum.refused != 0);
}

TEST_CASE("a closed channel is not reset, and a reset that times out can be tried again") {
  memory_image image(16384);
  fw::queue_attributes at;
  const mlx5_channel c = make_channel(image, 4, 5, queue_fixture::key, at);
  const channel_restart<mlx5_channel> restart(c);
  const auto now = [] { return simt::within(100'000); };
  c.counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
  const std::uint64_t held = c.queue().try_reserve(2).value;
  CHECK(restart.bar(now()).code == status_code::timed_out);
  CHECK(c.submit({}).status.code == status_code::flushed);
  CHECK(c.submit({}).status.retry_safe());
  CHECK_FALSE(c.queue().try_reserve(1));
  CHECK(restart.bar(now()).code == status_code::timed_out);
  c.queue().write_nop(held);
  c.queue().write_nop(held + 1);
  c.queue().publish(held, 2);
  CHECK(restart.bar(now()).ok());
  const std::uint64_t taken = c.queue().taken();
  c.counters().completed += 1;  // as if a lane had counted what it never took
  CHECK(restart.settle(now()).code == status_code::timed_out);
  c.counters().completed -= 1;
  CHECK(restart.settle(now()).ok());
  CHECK(c.phase() == channel_phase::connecting);
  CHECK(resets_in(c.counters().phase) == 1);
  CHECK(c.queue().taken() > taken);
  CHECK(restart.connect({}, now()).code == status_code::timed_out);  // nobody answers
  CHECK(restart.bar(now()).ok());
  CHECK(restart.settle(now()).ok());
  CHECK(slots_in_use(image, c) == 0);
  c.close();
  CHECK(c.phase() == channel_phase::closed);
  CHECK(resets_in(c.counters().phase) == 2);
  CHECK(restart.bar(now()).code == status_code::closed);
}

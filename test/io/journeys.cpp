/// Asynchronous operations against a scripted peer: refusals, silence, duplicates; tickets that
/// other warps wait for, and callbacks in whatever lane dispatches.
#include "journey_fixture.hpp"
#include "qp/seed_sweep.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

template <class Channel = mlx5_channel>
std::string travelled(host::options chosen, journey_shape s = {}, std::uint64_t patience_ns = 0) {
  basic_journey_fixture<Channel> f(s, static_cast<std::uint32_t>(chosen.seed));
  if (patience_ns != 0) f.client.patience_ns = patience_ns;
  f.client.hurried = patience_ns != 0;
  chosen.step_budget = 10'000'000;
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, f.client);
  machine.serve_in(simt::domain::nic, 1, s.channels, *f.peer.stop, f.peer);
  const std::string fault = run_to_end(machine);
  return fault.empty() ? f.judge() : fault;
}

}  // namespace

TEST_CASE("every operation ends once, with the outcome of all its parts, fast") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    host::options o;
    o.seed = seed;
    CHECK(travelled(o) == "");
    CHECK(travelled(o, {.blocks = 3, .lanes = 32, .rounds = 3, .channels = 2, .depth = 32}) == "");
    CHECK(travelled(o, {.blocks = 2, .lanes = 16, .rounds = 4, .channels = 3, .depth = 16}) == "");
  }
}

TEST_CASE("every operation ends once, with the outcome of all its parts, seeded") {
  sweep(host::mode::seeded, 200, [](host::options o) { return travelled(o); });
}

TEST_CASE("every operation ends once, with the outcome of all its parts, weak") {
  sweep(host::mode::weak, 150, [](host::options o) { return travelled(o); });
}

TEST_CASE("operations of a channel of a session's kind end once, seeded and weak") {
  sweep(host::mode::seeded, 100, [](host::options o) { return travelled<nic_channel>(o); });
  sweep(host::mode::weak, 60, [](host::options o) { return travelled<nic_channel>(o); });
}

TEST_CASE("an answer that comes around the end of its part is acted on once, seeded") {
  sweep(host::mode::seeded, 400, [](host::options o) {
    return travelled(o, {.rounds = 4, .channels = 1}, 300 + o.seed * 2'654'435'761 % 12'000);
  });
}

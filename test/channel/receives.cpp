/// A receive is posted for every request that the NIC sees.
#include "connect_all.hpp"
#include "exchange_run.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Lanes send more requests than the channel has slots for; its peer answers each once, in any
/// order. Says what went wrong, or nothing.
template <class Channel = mlx5_channel>
std::string covered(host::options chosen, exchange_shape s) {
  basic_exchange_fixture<Channel> f(s, static_cast<std::uint32_t>(chosen.seed));
  f.peer.in_order = chosen.seed % 2 != 0;
  const Channel channel = *f.client.channels;
  letter* const letters = f.client.letters;
  std::uint32_t failed = 0;
  chosen.step_budget = 10'000'000;
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, [&](auto& lane) {
    if (!connect_all(f.client.channels, 1, lane.global_thread() == 0)) ++failed;
    for (std::uint32_t k = 0; k < s.rounds; ++k) {
      wire::nvme::submission_entry e{};
      e.opcode = 0xc0;
      e.cdw10 = lane.global_thread() * s.rounds + k;
      letters[e.cdw10].ask(e.cdw10);
      if (!channel.execute(e, deadline::never()).ok())
        device_word<std::uint32_t>(failed).fetch_add(1, relaxed);
    }
  });
  machine.serve_in(simt::domain::nic, 1, 1, *f.peer.stop, f.peer);
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  const peer_record& seen = f.image.here(f.peer.queues)->seen;
  if (failed != 0) return "a request failed";
  if (seen.sends != s.requests() + 1) return "a request was lost";
  if (seen.uncovered != 0) return "the NIC saw a request before its receive";
  return {};
}

constexpr exchange_shape crowd{.blocks = 3, .lanes = 3, .rounds = 4, .channels = 1, .depth = 4};
constexpr exchange_shape pairs{.blocks = 3, .lanes = 2, .rounds = 6, .channels = 1, .depth = 4};

}  // namespace

TEST_CASE("no request reaches the NIC before its receive, fast") {
  CHECK(covered({}, crowd) == "");
  CHECK(covered({}, {.blocks = 4, .lanes = 32, .rounds = 6, .channels = 1, .depth = 32}) == "");
}

TEST_CASE("no request reaches the NIC before its receive, seeded") {
  sweep(host::mode::seeded, 800, [](host::options o) { return covered(o, crowd); });
}

TEST_CASE("no request reaches the NIC before its receive, weak") {
  sweep(host::mode::weak, 100, [](host::options o) { return covered(o, crowd); });
  sweep(host::mode::weak, 900, [](host::options o) { return covered(o, pairs); });
  sweep(host::mode::weak, 100, [](host::options o) { return covered<nic_channel>(o, pairs); });
}

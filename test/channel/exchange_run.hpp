#pragma once
/// Runs whole exchanges on the host runtime.

#include "exchange_fixture.hpp"
#include "qp/seed_sweep.hpp"

namespace gnstor::test {

/// One exchange; `prepare` may spoil something. Says what went wrong, or nothing.
template <class Channel = mlx5_channel, class Prepare>
std::string exchanged(host::options chosen, exchange_shape s, Prepare prepare) {
  basic_exchange_fixture<Channel> f(s, static_cast<std::uint32_t>(chosen.seed));
  prepare(f);
  // A waiting lane asks for the channel's state every 256 rounds; where it is the slow one, its
  // peer spends most steps.
  chosen.step_budget = 10'000'000;
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, f.client);
  machine.serve_in(s.same_device ? simt::domain::gpu0 : simt::domain::nic, 1, s.channels,
                   *f.peer.stop, f.peer);
  const std::string fault = run_to_end(machine);
  return fault.empty() ? f.judge() : fault;
}
template <class Channel = mlx5_channel>
std::string exchanged(host::options chosen, exchange_shape s = {}) {
  return exchanged<Channel>(chosen, s, [](basic_exchange_fixture<Channel>&) {});
}

}  // namespace gnstor::test

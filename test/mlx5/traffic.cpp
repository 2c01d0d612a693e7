/// A NIC that knows nothing but what the DevX commands said serves what the queue pair writes: the
/// layout described is the layout used.
#include "channel/exchange.hpp"
#include "described.hpp"
#include "qp/memory_image.hpp"
#include "qp/seed_sweep.hpp"
#include "rig.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using nic_channel = channel<nic_queue_pair>;

constexpr std::uint32_t lanes = 6;
constexpr std::uint32_t rounds = 4;

/// Runs an exchange of six lanes over the rig's queue under one seed; what went wrong.
std::string exchange_over_rig(gnstor::simt::host::options chosen, bool scatter = false) {
  fake_machine::get().reset();
  const rig r(fake_gpu(), scatter);
  aligned_memory table(nic_channel::bytes(rig::depth));
  nic_channel channel(r.queue->ref(), table.data());
  fw::memory_region regions[2] = {{}, registered()};
  peer_queue served{described(), {}};
  std::vector<letter> letters(lanes * rounds + 1);
  std::vector<sent_request> requests(lanes * rounds);
  exchange_record record;
  std::uint32_t stop = 0;

  exchange<nic_channel> client;
  client.channels = &channel;
  client.channel_count = 1;
  client.rounds = rounds;
  client.seed = static_cast<std::uint32_t>(chosen.seed);
  client.letters = letters.data();
  client.requests = requests.data();
  client.record = &record;
  scripted_peer peer;
  peer.queues = &served;
  peer.regions = fw::region_table(regions, 2);
  peer.letters = letters.data();
  peer.letter_count = lanes * rounds + 1;
  peer.stop = &stop;
  peer.seed = client.seed;
  peer.in_order = false;

  gnstor::simt::host::executor machine(chosen);
  machine.spawn(2, lanes / 2, client);
  machine.serve_in(simt::domain::nic, 1, 1, stop, peer);
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (record.ended != lanes || record.stuck != 0 || record.refused != 0) return "a lane failed";
  if (served.seen.sends < lanes * rounds) return "the NIC saw too few requests";
  if (served.seen.overruns + served.seen.bad_entries + served.seen.bad_letters != 0)
    return "the NIC met something wrong";
  for (const sent_request& e : requests) {
    if (static_cast<ask>(e.asked) != ask::answer) continue;
    if (!status::unpack(e.outcome).ok() || e.visible == 0) return "a request got no answer";
  }
  return {};
}

}  // namespace

TEST_CASE(
    "requests over a DevX queue get their answers from a NIC that knows the commands alone, "
    "seeded") {
  sweep(gnstor::simt::host::mode::seeded, 200,
        [](auto chosen) { return exchange_over_rig(chosen); });
}

TEST_CASE("responses inside completions, as the DevX commands say, reach their requests, seeded") {
  sweep(gnstor::simt::host::mode::seeded, 100,
        [](auto chosen) { return exchange_over_rig(chosen, true); });
}

TEST_CASE("requests over a DevX queue get their answers, weak memory") {
  sweep(gnstor::simt::host::mode::weak, 60, [](auto chosen) { return exchange_over_rig(chosen); });
}

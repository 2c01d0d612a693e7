/// Whole channels against a scripted peer: answers, refusals, silence, duplicates and broken
/// queues.
#include "exchange.hpp"

#include "exchange_run.hpp"
#include <gnstor/channel/doorbell/batch.hpp>
#include <gnstor/channel/doorbell/every.hpp>
#include <gnstor/channel/doorbell/manual.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

template <doorbell_policy Doorbell>
using under = channel<mlx5_queue_pair<>, Doorbell>;

/// One exchange under each doorbell policy but the default. Nobody commits: whoever waits, rings.
std::string exchanged_under_each(host::options chosen, exchange_shape s = {}) {
  std::string fault = exchanged<under<doorbell::every>>(chosen, s);
  if (fault.empty()) fault = exchanged<under<doorbell::batch<3>>>(chosen, s);
  return fault.empty() ? exchanged<under<doorbell::manual>>(chosen, s) : fault;
}

/// Any request of a default exchange, by seed.
std::uint32_t any_request(host::options o) {
  return static_cast<std::uint32_t>(mix64(o.seed) % exchange_shape{}.requests());
}

constexpr std::uint64_t seeded_share = 200;
constexpr std::uint64_t weak_share = 150;

}  // namespace

TEST_CASE("every request gets its own answer, whatever lanes run beside it, fast") {
  CHECK(exchanged({}) == "");
  CHECK(exchanged({}, {.blocks = 3, .lanes = 8, .rounds = 40, .channels = 1, .depth = 8}) == "");
  CHECK(exchanged({}, {.blocks = 2, .lanes = 32, .rounds = 20, .channels = 3, .depth = 4}) == "");
  CHECK(exchanged({}, {.blocks = 2, .lanes = 32, .rounds = 20, .channels = 2, .depth = 128}) == "");
}

TEST_CASE("every request gets its own answer, whatever lanes run beside it, seeded") {
  sweep(host::mode::seeded, 2 * seeded_share, [](host::options o) { return exchanged(o); });
}

TEST_CASE("every request gets its own answer, whatever lanes run beside it, weak") {
  sweep(host::mode::weak, 2 * weak_share, [](host::options o) { return exchanged(o); });
}

TEST_CASE("a NIC on the lanes' own device is reached at device scope, weak") {
  sweep(host::mode::weak, weak_share, [](host::options o) {
    exchange_shape s;
    s.same_device = true;
    return exchanged(o, s);
  });
}

TEST_CASE("a NIC on another device is never reached at device scope") {
  exchange_fixture f({.same_device = true}, 1);
  host::executor machine({.run = host::mode::seeded, .seed = 1});
  machine.spawn(2, 3, f.client);
  machine.serve_in(simt::domain::nic, 1, 2, *f.peer.stop, f.peer);
  CHECK(run_to_end(machine).find("scope") != std::string::npos);
}

TEST_CASE("every request gets its own answer under every doorbell policy, fast") {
  const exchange_shape large{.blocks = 2, .lanes = 32, .rounds = 20, .channels = 3, .depth = 4};
  CHECK(exchanged_under_each({}, large) == "");
}

TEST_CASE("every request gets its own answer under every doorbell policy, seeded") {
  sweep(host::mode::seeded, seeded_share, [](host::options o) { return exchanged_under_each(o); });
}

TEST_CASE("every request gets its own answer under every doorbell policy, weak") {
  sweep(host::mode::weak, weak_share, [](host::options o) { return exchanged_under_each(o); });
}

TEST_CASE("every request gets its own answer from its completion, seeded") {
  sweep(host::mode::seeded, seeded_share,
        [](host::options o) { return exchanged(o, {.scatter = true}); });
}

TEST_CASE("every request gets its own answer from its completion, weak") {
  sweep(host::mode::weak, weak_share,
        [](host::options o) { return exchanged(o, {.scatter = true}); });
}

TEST_CASE("every request gets its own answer with its capsule inside the entry, seeded") {
  sweep(host::mode::seeded, seeded_share / 2,
        [](host::options o) { return exchanged<nic_channel>(o, {.scatter = o.seed % 2 == 0}); });
  sweep(host::mode::seeded, seeded_share / 2, [](host::options o) {
    return exchanged<nic_channel>(o, {}, [&](auto& f) {
      f.break_at(any_request(o), ask::break_send, wire::mlx5::syndrome::remote_access_error);
    });
  });
}

TEST_CASE("more lanes than request slots get through a full channel, seeded") {
  sweep(host::mode::seeded, seeded_share / 2, [](host::options o) {
    return exchanged(o, {.blocks = 2, .lanes = 5, .rounds = 3, .channels = 1, .depth = 4});
  });
}

TEST_CASE("more warps than request slots get through a full channel, fast") {
  CHECK(exchanged({}, {.blocks = 5, .lanes = 16, .rounds = 6, .channels = 1, .depth = 16}) == "");
}

TEST_CASE("more lanes than request slots get through a full channel, weak") {
  sweep(host::mode::weak, weak_share / 2, [](host::options o) {
    return exchanged(o, {.blocks = 2, .lanes = 5, .rounds = 3, .channels = 1, .depth = 4});
  });
}

TEST_CASE("an answer that comes around the deadline is whole or none, seeded") {
  sweep(host::mode::seeded, 2 * seeded_share, [](host::options o) {
    return exchanged(o, {}, [&](exchange_fixture& f) {
      f.client.patience_ns = 500 + o.seed * 2'654'435'761 % 20'000;
    });
  });
}

TEST_CASE("silence times out for the lane that asked and for no other, seeded") {
  sweep(host::mode::seeded, seeded_share, [](host::options o) {
    return exchanged(o, {}, [&](exchange_fixture& f) { f.client.silent = any_request(o); });
  });
}

TEST_CASE("silence times out for the lane that asked and for no other, weak") {
  sweep(host::mode::weak, weak_share, [](host::options o) {
    return exchanged(o, {}, [&](exchange_fixture& f) { f.client.silent = any_request(o); });
  });
}

TEST_CASE("the request that kills a queue pair learns why, and the others are flushed, seeded") {
  sweep(host::mode::seeded, seeded_share, [](host::options o) {
    return exchanged(o, {}, [&](exchange_fixture& f) {
      f.break_at(any_request(o), ask::break_send, wire::mlx5::syndrome::remote_access_error);
    });
  });
}

TEST_CASE("the request that kills a queue pair learns why, and the others are flushed, weak") {
  sweep(host::mode::weak, weak_share, [](host::options o) {
    return exchanged(o, {}, [&](exchange_fixture& f) {
      f.break_at(any_request(o), ask::break_send, wire::mlx5::syndrome::remote_access_error);
    });
  });
}

TEST_CASE("a failed receive ends every request in flight with its syndrome, seeded") {
  sweep(host::mode::seeded, seeded_share, [](host::options o) {
    return exchanged(o, {}, [&](exchange_fixture& f) {
      f.break_at(any_request(o), ask::break_receive, wire::mlx5::syndrome::local_access_error);
    });
  });
}

TEST_CASE("a channel refuses requests before Connect, after an error and after close") {
  exchange_fixture f({.channels = 1}, 1);
  const mlx5_channel& c = *f.client.channels;
  wire::nvme::submission_entry e{};
  CHECK(c.submit(e).status.code == status_code::not_ready);
  CHECK(c.execute(e, deadline::never()).code == status_code::not_ready);
  c.counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
  CHECK(c.submit(e));
  status why = status::make(status_code::transport_error, reporter::nic);
  why.syndrome = 0x13;
  c.counters().first_error = why.pack();
  c.counters().phase = static_cast<std::uint32_t>(channel_phase::error);
  CHECK(c.submit(e).status.code == status_code::flushed);
  CHECK(c.execute(e, deadline::never()).syndrome == 0x13);
  c.close();
  CHECK(c.submit(e).status.code == status_code::closed);
  CHECK(c.execute(e, deadline::never()).code == status_code::closed);
}

TEST_CASE("a Connect that nobody answers times out, and leaves the channel unusable") {
  exchange_fixture f({.channels = 1}, 1);
  const mlx5_channel& c = *f.client.channels;
  CHECK(c.connect({}, simt::within(1'000'000)).code == status_code::timed_out);
  CHECK(c.phase() == channel_phase::connecting);
  CHECK(c.submit({}).status.code == status_code::not_ready);
}

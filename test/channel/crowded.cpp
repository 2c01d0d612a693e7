/// Channels with fewer free slots than lanes that ask.
#include "exchange_run.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// A channel that is ready, whose NIC does nothing.
struct still_channel {
  explicit still_channel(std::uint32_t depth = 32)
      : fixture({.blocks = 1, .lanes = depth, .channels = 1, .depth = depth}, 1) {
    state().phase = static_cast<std::uint32_t>(channel_phase::ready);
  }
  const mlx5_channel& channel() const { return *fixture.client.channels; }
  channel_state& state() { return *fixture.image.here(&channel().counters()); }
  exchange_fixture fixture;
};

}  // namespace

TEST_CASE("a warp whose slots do not come together sends in time all the same") {
  constexpr std::uint32_t lanes = 4;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    still_channel one(lanes);
    host::executor machine({.run = host::mode::seeded, .seed = seed, .step_budget = 200'000'000});
    machine.spawn(1, lanes, [&](auto& lane) {
      const wire::nvme::submission_entry command{};
      if (lane.thread() == 0) CHECK(one.channel().submit(command));
      lane.warp().sync();
      (void)one.channel().execute(command, simt::within(seed % 2 != 0 ? 100'000 : 1'000'000));
    });
    CHECK(run_to_end(machine) == "");
    CHECK(one.state().submitted == lanes);
  }
}

TEST_CASE("lanes that do not wait get the slots that are free, whoever asks beside them") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    still_channel one;
    std::uint32_t refused = 0;
    host::executor machine({.run = host::mode::seeded, .seed = seed, .step_budget = 200'000'000});
    machine.spawn(1, 32, [&](auto& lane) {
      const wire::nvme::submission_entry command{};
      if (lane.thread() == 5) CHECK(one.channel().submit(command));
      lane.warp().sync();
      if (lane.thread() == 0) {
        (void)one.channel().execute(command, simt::within(100'000));
      } else if (!one.channel().submit(command)) {
        device_word<std::uint32_t>(refused).fetch_add(1, relaxed);
      }
    });
    CHECK(run_to_end(machine) == "");
    CHECK(refused <= 1);  // 32 ask for 31 slots
  }
}

TEST_CASE("a warp that waits together learns that its channel is dead") {
  still_channel one;
  std::uint32_t flushed = 0;
  host::executor machine({.run = host::mode::seeded, .seed = 1, .step_budget = 200'000'000});
  machine.spawn(1, 32, [&](auto& lane) {
    const result<ticket> sent = one.channel().submit({});
    lane.warp().sync();
    if (lane.thread() == 0) {
      device_word<std::uint32_t>(one.channel().counters().phase)
          .store(static_cast<std::uint32_t>(channel_phase::error), release);
    }
    lane.warp().sync();
    const status s = one.channel().wait(sent.value, deadline::never());
    if (s.code == status_code::flushed) device_word<std::uint32_t>(flushed).fetch_add(1, relaxed);
  });
  CHECK(run_to_end(machine) == "");
  CHECK(flushed == 32);
}

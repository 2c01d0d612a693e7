/// The word that holds a channel's phase: changes from several sides at once.
#include "qp/seed_sweep.hpp"
#include <gnstor/channel/phase_word.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/lane.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Lane 0 begins a life of the channel and opens it; lane 1 learns, by words that order nothing,
/// that its queue pair has died again; lane 2 closes it.
struct changers {
  struct shared {};
  channel_state* state;
  std::uint32_t* began;

  template <class Lane>
  void operator()(Lane& lane) const {
    const detail::phase_word phase(*state);
    const device_word<std::uint32_t> life(*began);
    switch (lane.thread()) {
      case 0:
        (void)phase.begin_life();
        life.store(1, relaxed);
        (void)phase.open();
        break;
      case 1:
        for (bounded rounds{100'000}; life.load(relaxed) == 0 && rounds;) lane.pause();
        (void)phase.fail();
        break;
      default: phase.close(); break;
    }
  }
};

/// The phase that `lanes` of them leave behind.
channel_phase left_by(std::uint32_t lanes, const host::options& chosen, std::string& fault) {
  channel_state state{};
  state.phase = static_cast<std::uint32_t>(channel_phase::error);
  std::uint32_t began = 0;
  host::executor machine(chosen);
  machine.spawn(1, lanes, changers{&state, &began});
  fault += run_to_end(machine);
  return phase_in(state.phase);
}

void race(host::mode mode) {
  sweep(mode, 200, [](const host::options& o) {
    std::string fault;
    if (left_by(2, o, fault) != channel_phase::error) fault += "a dead channel was left alive";
    if (left_by(3, o, fault) != channel_phase::closed) fault += "a closed channel was left open";
    return fault;
  });
}

}  // namespace

TEST_CASE(
    "a channel that dies while its life begins is dead, and one that is closed stays so, seeded") {
  race(host::mode::seeded);
}

TEST_CASE(
    "a channel that dies while its life begins is dead, and one that is closed stays so, weak") {
  race(host::mode::weak);
}

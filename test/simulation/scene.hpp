#pragma once

#include "driver.hpp"

namespace gnstor::test {

/// All that one seed runs on: an array, its manager and its clients, and what has befallen them.
struct scene {
  static constexpr std::uint16_t manager_client = 1;

  /// What happened, for those who want to know that everything does.
  struct tally {
    std::uint32_t power_cuts = 0;
    std::uint32_t unsaved = 0;
    std::uint32_t deaths = 0;
    std::uint32_t silences = 0;
    std::uint32_t corrupted = 0;
    std::uint32_t damages = 0;
    std::uint32_t forgeries = 0;
    std::uint32_t client_deaths = 0;
    std::uint32_t manager_crashes = 0;
    std::uint32_t hand_overs = 0;
    std::uint32_t recreations = 0;
    std::uint32_t spreads = 0;
    std::uint32_t stalls = 0;
    std::uint64_t repairs = 0;
  };

  explicit scene(std::uint64_t seed)
      : dice(seed),
        shape(swarm::of(dice)),
        array(shape, shape.clients + 2),
        driver(shape, {.ssds = shape.ssds, .client = manager_client, .lease_ns = shape.lease_ns()},
               shape.clients) {
    for (std::uint32_t k = 0; k < shape.clients; ++k)
      clients.push_back(std::make_unique<simulated_client>(
          shape, checker, k, client_id(static_cast<std::uint16_t>(10 + k))));
    driver.may_fail = [this](std::uint32_t ssd) { return may_lose(ssd); };
  }
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;

  void note(const std::string& what) {
    events.push_back("step " + std::to_string(checker.now()) + ": " + what);
    if (events.size() > 60) events.erase(events.begin());
  }
  /// False if losing this SSD, too, would lose data: then nothing is promised any more. True: it
  /// counts as lost until it is in sync again.
  bool may_lose(std::uint32_t ssd) {
    const daemon::membership& m = driver.serving();
    const std::uint64_t bit = std::uint64_t{1} << ssd;
    const std::uint64_t behind = m.absent | m.filling | unsound;
    if ((unsound & bit) != 0) return true;
    if (static_cast<std::uint32_t>(std::popcount(behind | bit)) >= shape.replicas) return false;
    unsound |= bit;
    return true;
  }
  /// SSDs whose faults are over, and that the manager has in sync, are sound.
  void forgive() {
    if (!driver.is_idle()) return;
    std::uint64_t still =
        driver.serving().absent | driver.serving().filling | doomed | driver.broken;
    for (std::uint32_t k = 0; k < shape.ssds; ++k)
      still |= std::uint64_t{array.fault(k) != fw::ssd_fault::none ? 1u : 0u} << k;
    if (damaged) still |= std::uint64_t{1} << *damaged;
    unsound &= still;
  }

  /// Some engine stands still for a while, between two of its rounds.
  void stall_some_engine() {
    ++happened.stalls;
    const std::uint32_t most_rounds = dice.one_in(8) ? 1500 : 200;
    stall(dice.below(array.roles()), most_rounds);
  }
  void stall_some_shard() { stall(array.some_shard(dice), 1500); }

  /// Clients begin nothing, or go on.
  void hold(bool rest) {
    holds = rest;
    for (const auto& c : clients) c->resting = rest;
  }

  simt::host::lone_lane lane;
  draws dice;
  swarm shape;
  history_checker checker;
  simulated_array array;
  std::vector<std::unique_ptr<simulated_client>> clients;
  manager_driver driver;
  tally happened;
  std::vector<std::string> events;
  std::uint64_t now_ns = 1'000'000;
  std::uint64_t stamp = 1;
  std::uint64_t doomed = 0;                ///< SSDs that have lost what they had acknowledged
  std::uint64_t unsound = 0;               ///< SSDs that may be without an acknowledged write
  std::optional<std::uint32_t> damaged{};  ///< an SSD with a bad page
  bool holds = false;
  bool ending = false;

 private:
  void stall(std::uint32_t role, std::uint32_t most_rounds) {
    array.stall(role, 1 + dice.below(most_rounds));
  }
};

}  // namespace gnstor::test

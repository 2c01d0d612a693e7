#pragma once

#include "driver.hpp"

namespace gnstor::test {

/// All that one seed runs on: an array, its manager and its clients, and what has befallen them.
struct scene {
  static constexpr std::uint16_t manager_client = simulated_array::manager.value;

  /// What happened, for those who want to know that everything does.
  struct tally {
    std::uint32_t power_cuts = 0;
    std::uint32_t unsaved = 0;
    std::uint32_t deaths = 0;
    std::uint32_t silences = 0;
    std::uint32_t partitions = 0;    ///< SSDs that the manager did not reach
    std::uint64_t late_orders = 0;   ///< of former managers
    std::uint64_t late_refused = 0;  ///< of these
    std::uint64_t refusals = 0;      ///< of orders, by the SSDs
    std::uint32_t front_end_cuts = 0;
    std::uint32_t returns = 0;  ///< of SSDs with what they had
    std::uint32_t maintenances = 0;
    std::uint32_t kept = 0;         ///< volumes that needed no fill
    std::uint64_t kept_partly = 0;  ///< or only where others had changed them
    std::uint64_t forgotten = 0;    ///< stripes that had been
    std::uint64_t fences = 0;       ///< times that writers waited for that
    std::uint32_t corrupted = 0;
    std::uint32_t damages = 0;
    std::uint32_t forgeries = 0;
    std::uint32_t client_deaths = 0;
    std::uint32_t manager_crashes = 0;
    std::uint32_t hand_overs = 0;
    std::uint32_t recreations = 0;
    std::uint32_t spreads = 0;
    std::uint32_t drains = 0;       ///< volumes that left their last SSDs
    std::uint32_t beside = 0;       ///< of both: while a client had the right to write
    std::uint32_t exchanges = 0;    ///< of SSDs that serve, begun
    std::uint32_t calls_off = 0;    ///< of exchanges, and of those that come home
    std::uint32_t exchanged = 0;    ///< and ended well
    std::uint32_t stand_ins = 0;    ///< of SSDs that had failed, likewise
    std::uint32_t homecomings = 0;  ///< places that their own SSDs took back
    std::uint32_t stalls = 0;
    std::uint64_t repairs = 0;
    std::uint64_t lost_blocks = 0;
    std::uint32_t lost_volumes = 0;

    void add(const tally& other) {
      power_cuts += other.power_cuts;
      unsaved += other.unsaved;
      deaths += other.deaths;
      silences += other.silences;
      partitions += other.partitions;
      late_orders += other.late_orders;
      late_refused += other.late_refused;
      refusals += other.refusals;
      front_end_cuts += other.front_end_cuts;
      returns += other.returns;
      maintenances += other.maintenances;
      kept += other.kept;
      kept_partly += other.kept_partly;
      forgotten += other.forgotten;
      fences += other.fences;
      corrupted += other.corrupted;
      damages += other.damages;
      forgeries += other.forgeries;
      client_deaths += other.client_deaths;
      manager_crashes += other.manager_crashes;
      hand_overs += other.hand_overs;
      recreations += other.recreations;
      spreads += other.spreads;
      drains += other.drains;
      beside += other.beside;
      exchanges += other.exchanges;
      calls_off += other.calls_off;
      exchanged += other.exchanged;
      stand_ins += other.stand_ins;
      homecomings += other.homecomings;
      stalls += other.stalls;
      repairs += other.repairs;
      lost_blocks += other.lost_blocks;
      lost_volumes += other.lost_volumes;
    }
  };

  explicit scene(std::uint64_t seed)
      : dice(seed),
        shape(swarm::of(dice)),
        array(shape, shape.clients + 3),
        judges(array, checker),
        driver(shape,
               {.ssds = shape.ssds,
                .client = manager_client,
                .lease_ns = shape.lease_ns(),
                .try_again_ns = 500'000},
               shape.clients) {
    for (std::uint32_t k = 0; k < shape.clients; ++k)
      clients.push_back(std::make_unique<simulated_client>(
          shape, checker, judges, k, client_id(static_cast<std::uint16_t>(10 + k))));
    if (shape.beyond) {
      checker.no_replica_in_sync = [this](std::uint16_t vid, std::uint32_t block) {
        const auto all = driver.manager.volumes(true);
        return std::any_of(all.begin(), all.end(), [&](const wire::afa::volume_record& r) {
          return r.vid == vid && exposed(r, block);
        });
      };
    }
    driver.may_fail = [this](std::uint32_t ssd) {
      return (unsound >> ssd & 1) != 0 || may_lose(ssd);
    };
    driver.vanished = [this](std::uint64_t now) {
      std::vector<std::uint16_t> all;
      for (const auto& c : clients) {
        if (c->is_dead(now)) all.push_back(c->line.client().value);
      }
      return all;
    };
  }
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;

  void note(const std::string& what) {
    events.push_back("step " + std::to_string(checker.now()) + ": " + what);
    if (events.size() > 60) events.erase(events.begin());
  }
  /// Places of which no SSD may be relied on to have all that was acknowledged: by the epoch that
  /// everybody knows, or by the one that SSDs are being informed of.
  /// @param also SSDs, by bit, as if they had failed, too
  std::uint64_t behind(std::uint64_t also = 0) const {
    // Where two SSDs serve at a place, the one that is left may be the one that has failed.
    const auto by = [&](const daemon::membership& m) {
      std::uint64_t bad = ~m.sound_places();
      for (std::uint32_t k = 0; k < shape.ssds; ++k) {
        if (((unsound | also) & ~m.absent) >> k & 1)
          bad |= std::uint64_t{1} << m.others.place_of(k);
      }
      return bad & ((std::uint64_t{1} << shape.places()) - 1);
    };
    return by(driver.serving()) | by(driver.manager.serving());
  }
  /// True of an absent SSD that nobody misses: another one is in sync at its place, or it is a
  /// spare.
  bool is_at_rest(std::uint32_t ssd) const {
    const daemon::membership& m = driver.serving();
    const std::uint32_t place = m.others.place_of(ssd);
    const bool other = (m.at(place) & m.in_sync() & ~(std::uint64_t{1} << ssd)) != 0;
    return other || place >= shape.places();
  }
  /// False if losing this SSD, too, would lose what this world is to keep. True: it counts as lost
  /// until it is in sync again.
  bool may_lose(std::uint32_t ssd) {
    const std::uint64_t bit = std::uint64_t{1} << ssd;
    if (static_cast<std::uint32_t>(std::popcount(behind(bit))) > shape.most_failed()) return false;
    unsound |= bit;
    note_losses();
    return true;
  }
  /// True if of some block no replica may be left.
  bool may_be_torn() const {
    return static_cast<std::uint32_t>(std::popcount(behind())) >= shape.replicas;
  }
  /// Has the checker know of blocks all replicas of which have failed, if there are any; and which
  /// volumes no SSD may know any more.
  /// @param fails some SSD fails just now, whatever it was before
  void note_losses(bool fails = false) {
    const std::uint64_t gone = driver.serving().absent | unsound;
    const std::uint64_t now = behind();
    const bool more = fails || ((gone & ~noted_gone_) | (now & ~noted_behind_)) != 0;
    const bool changed = more || noted_gone_ != gone || noted_behind_ != now;
    noted_gone_ = gone;
    noted_behind_ = now;
    if (!shape.beyond || !changed) return;
    for (const wire::afa::volume_record& r : driver.manager.volumes(true)) {
      const std::uint64_t own = (std::uint64_t{1} << r.ssd_count) - 1;
      if ((own & ~now) == 0) {
        happened.lost_volumes += forgettable.insert(r.vid).second ? 1 : 0;
      } else if (!driver.is_down(now_ns)) {
        forgettable.erase(r.vid);
      }
      for (std::uint32_t b = 0; more && b < r.capacity_blocks; ++b) {
        if (exposed(r, b)) happened.lost_blocks += checker.lost(r.vid, b) ? 1 : 0;
      }
    }
  }
  /// SSDs whose faults are over, and that the manager has in sync, are sound.
  void forgive() {
    if (!driver.is_idle()) return;
    std::uint64_t still =
        driver.serving().absent | driver.serving().filling | driver.doomed | driver.broken;
    for (std::uint32_t k = 0; k < shape.ssds; ++k)
      still |= std::uint64_t{is_away(k) ? 1u : 0u} << k;
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
  judge judges;
  std::vector<std::unique_ptr<simulated_client>> clients;
  manager_driver driver;
  tally happened;
  std::vector<std::string> events;
  std::uint64_t now_ns = 1'000'000;
  std::uint64_t stamp = 1;
  std::uint64_t unsound = 0;               ///< SSDs that may be without an acknowledged write
  std::optional<std::uint32_t> damaged{};  ///< an SSD with a bad page
  /// Volumes that a manager may not find again: all SSDs that knew them failed at once.
  std::set<std::uint16_t> forgettable;
  std::uint32_t crashes_without_answer = 0;  ///< of managers, in a row
  bool holds = false;
  bool ending = false;

 private:
  bool is_away(std::uint32_t ssd) const {
    return array.fault(ssd) != fw::ssd_fault::none || driver.orders.is_cut(ssd, now_ns);
  }
  /// True if all replicas of a block are on SSDs that lack something: where it lies, or where it
  /// would if its volume were spread further, or less far, as it may be just now.
  bool exposed(const wire::afa::volume_record& r, std::uint32_t block) const {
    const auto covered = [&](std::uint32_t ssd_count) {
      const auto placed = rendezvous_placement(ssd_count).replicas(
          volume_id(r.vid), r.hash_factor, block / r.stripe_blocks, r.replicas);
      return placed.without(behind()).count == 0;
    };
    return covered(r.ssd_count) || (r.ssd_count < shape.places() && covered(r.ssd_count + 1)) ||
           (r.ssd_count > r.replicas && covered(r.ssd_count - 1));
  }
  void stall(std::uint32_t role, std::uint32_t most_rounds) {
    array.stall(role, 1 + dice.below(most_rounds));
  }

  std::uint64_t noted_gone_ = 0;
  std::uint64_t noted_behind_ = 0;
};

}  // namespace gnstor::test

#pragma once

#include "misfortunes.hpp"

namespace gnstor::test {

/// An array, its manager and its clients under the faults that one seed draws: every step and every
/// fault follows from the seed.
class world {
 public:
  explicit world(std::uint64_t seed)
      : scene_(seed),
        tenants_(scene_),
        hostile_(scene_),
        misfortunes_(scene_, tenants_, hostile_) {}

  /// Runs until `operations` requests have been answered, then to rest, and compares replicas.
  /// Throws `broken_promise`.
  void run(std::uint64_t operations) {
    try {
      for (std::uint64_t k = 0; answered() < operations; ++k) {
        if (k > most_steps) throw broken_promise{"nothing moves"};
        step();
        misfortunes_.step();
      }
      settle();
      compare(false);
    } catch (broken_promise& b) {
      b.what += "; " + standing();
      throw;
    }
  }
  std::uint64_t answered() const {
    std::uint64_t all = 0;
    for (const auto& c : scene_.clients) all += c->done();
    return all;
  }
  std::uint64_t steps() const { return scene_.checker.now(); }
  history_checker& checker() { return scene_.checker; }
  const scene::tally& happened() const { return scene_.happened; }
  const judge::tally& judged() const { return scene_.judges.counts(); }
  /// What the world was, and the last things that befell it.
  std::string story() const {
    std::string all = scene_.shape.describe();
    for (const std::string& line : scene_.events) all += "\n  " + line;
    return all;
  }

 private:
  static constexpr std::uint64_t most_steps = 4'000'000;
  /// More turns than others have: all pages of the array go through one copy worker, and what waits
  /// for it must be served within the clients' patience.
  static constexpr std::uint32_t copier_turns = 6;
  static constexpr std::uint32_t looks = 6;  ///< of a client, a step

  void step() {
    scene_.checker.step();
    scene_.now_ns += 20 + scene_.dice.below(180);
    scene_.lane.set_now_ns(scene_.now_ns);
    scene_.array.befell.set_time(scene_.checker.now(), scene_.now_ns);
    const std::uint32_t actors = scene_.array.roles() + scene_.shape.clients + 2;
    const std::uint32_t who = scene_.dice.below(actors + copier_turns);
    if (who >= actors) {
      (void)scene_.array.tick(0);
    } else if (who < scene_.array.roles()) {
      (void)scene_.array.tick(who);
      if (carries_orders(scene_.array.node().shape, who)) scene_.driver.watch(scene_.array);
    } else if (who < scene_.array.roles() + scene_.shape.clients) {
      client_step(who - scene_.array.roles());
    } else if (who == actors - 2) {
      scene_.driver.step(scene_.dice, scene_.array, scene_.now_ns);
      note_epoch();
      tenants_.step();
    } else {
      hostile_.step();
    }
  }

  void note_epoch() {
    scene_.note_losses();
    const daemon::membership& m = scene_.driver.serving();
    if (m.epoch == noted_epoch_) return;
    noted_epoch_ = m.epoch;
    scene_.note("epoch " + std::to_string(m.epoch) + ": absent " + std::to_string(m.absent) +
                ", filling " + std::to_string(m.filling) + ", others " +
                std::to_string(m.others.bits));
    for (std::uint32_t k = 0; k < wire::afa::stand_ins::most; ++k) {
      const std::uint64_t bit = m.others.has(k) ? std::uint64_t{1} << m.others.ssd(k) : 0;
      if ((bit & m.in_sync() & noted_.filling) == 0) continue;
      const bool served = (noted_.in_sync() >> m.others.place(k) & 1) != 0;
      ++(served ? scene_.happened.exchanged : scene_.happened.stand_ins);
    }
    if (noted_.others.any() && noted_.others.within(~m.in_sync()) != noted_.others) {
      for (std::uint32_t k = 0; k < scene_.shape.places(); ++k) {
        const bool back = (noted_.filling & m.in_sync() & ~noted_.in_sync()) >> k & 1;
        const std::uint64_t own = std::uint64_t{1} << k;
        scene_.happened.homecomings += back && noted_.others.of(own) != 0 ? 1 : 0;
      }
    }
    noted_ = m;
  }
  void client_step(std::uint32_t k) {
    simulated_client& c = *scene_.clients[k];
    if (c.wants_update && !scene_.driver.is_down(scene_.now_ns)) {
      c.wants_update = false;
      c.learn(scene_.driver.serving(), scene_.driver.manager.volumes());
    }
    // Each idle look asks one request, drawn by the clock, whether its time is up: one that looks
    // as seldom as once a step would come to the next replica too late.
    for (std::uint32_t look = 0; look < looks; ++look) {
      scene_.lane.set_now_ns(scene_.now_ns++);
      c.poll();
    }
    scene_.lane.set_now_ns(scene_.now_ns);
    c.step(scene_.dice, scene_.array, scene_.now_ns, scene_.stamp);
    for (const auto& [ssd, epoch] : c.complaints) {
      const bool heard =
          !scene_.driver.is_down(scene_.now_ns) && epoch == scene_.driver.serving().epoch;
      if (heard && ssd < scene_.shape.ssds) (void)scene_.driver.complain(scene_.array.befell, ssd);
    }
    c.complaints.clear();
  }

  std::string standing() {
    const daemon::membership& m = scene_.driver.serving();
    return "epoch " + std::to_string(m.epoch) + ", absent " + std::to_string(m.absent) +
           ", filling " + std::to_string(m.filling) + ", broken " +
           std::to_string(scene_.driver.broken | scene_.driver.doomed) + ", manager " +
           scene_.driver.standing() + ", node " + (scene_.array.is_idle() ? "idle" : "busy") +
           scene_.array.describe_queues() + (scene_.damaged ? ", a page damaged" : "") +
           ", answered " + std::to_string(answered()) + ", under way" + tenants_.under_way();
  }
  /// Faults end; everything is replaced, filled and converged.
  void settle() {
    const swarm quiet = scene_.shape;
    scene_.shape = swarm{};
    scene_.shape.ssds = quiet.ssds;
    scene_.shape.spares = quiet.spares;
    scene_.shape.replicas = quiet.replicas;
    scene_.shape.clients = quiet.clients;
    scene_.shape.volumes = quiet.volumes;
    scene_.shape.capacity = quiet.capacity;
    scene_.shape.stripe_blocks = quiet.stripe_blocks;
    scene_.shape.beyond = quiet.beyond;
    scene_.ending = true;
    scene_.driver.refuses = false;
    bool compared = false;
    std::uint64_t rests_since_ns = scene_.now_ns;  // what was refused is repeated meanwhile
    scene_.hold(true);
    for (std::uint64_t k = 0;; ++k) {
      if (k > most_steps) throw broken_promise{"it does not come to rest"};
      step();
      misfortunes_.step();
      misfortunes_.tell_of_doomed();
      if (k % 64 != 0) continue;
      const daemon::membership& m = scene_.driver.serving();
      bool rests = scene_.driver.is_idle() && m.filling == 0 && scene_.driver.doomed == 0 &&
                   scene_.driver.broken == 0 && !scene_.damaged && scene_.array.is_idle();
      for (std::uint32_t s = 0; s < scene_.shape.ssds; ++s)
        rests = rests && ((m.absent >> s & 1) == 0 || scene_.is_at_rest(s));
      for (const auto& c : scene_.clients) rests = rests && c->is_idle();
      if (!rests) rests_since_ns = scene_.now_ns;
      const std::uint64_t refused_ns = compared || scene_.driver.refusals == 0 ? 0 : 1'200'000;
      if (!rests || scene_.now_ns < rests_since_ns + refused_ns) continue;
      if (!std::exchange(compared, true)) compare(true);
      if (tenants_.take_over_all()) break;
    }
  }
  /// Every replica of every block holds what it may; and all hold the same, or, before all are made
  /// equal, where nobody has failed to write.
  void compare(bool unequal_may_differ) {
    for (const std::uint16_t vid : tenants_.volumes()) {
      const auto all = scene_.driver.manager.volumes();
      if (std::none_of(all.begin(), all.end(), [vid](const auto& r) { return r.vid == vid; }))
        throw broken_promise{"volume " + std::to_string(vid) + " is gone"};
    }
    for (const wire::afa::volume_record& r : scene_.driver.manager.volumes()) {
      if (!scene_.checker.knows(r.vid)) continue;
      for (std::uint32_t b = 0; b < r.capacity_blocks; ++b) {
        const daemon::membership& m = scene_.driver.serving();
        const replica_set where =
            rendezvous_placement(r.ssd_count)
                .replicas(volume_id(r.vid), r.hash_factor, b / r.stripe_blocks, r.replicas)
                .served(m.others, m.absent);
        if (where.count != r.replicas) throw broken_promise{"a replica is missing at rest"};
        std::optional<std::uint64_t> first;
        for (std::uint32_t k = 0; k < where.count; ++k) {
          const auto found = scene_.array.look(where.ssd[k].value, r, b);
          const std::string at = " in block " + std::to_string(b) + " of volume " +
                                 std::to_string(r.vid) + " on SSD " +
                                 std::to_string(where.ssd[k].value);
          // Of what was lost some replica may have what was written since.
          const bool lost = scene_.checker.is_lost(r.vid, b);
          if (!found && lost) continue;
          if (!found) throw broken_promise{"no sound page at rest" + at};
          if (!scene_.checker.may_hold(r.vid, b, *found))
            throw broken_promise{"lost: " + std::to_string(*found) + at +
                                 "; possible:" + scene_.checker.describe(r.vid, b)};
          const bool equal = !unequal_may_differ || scene_.checker.is_settled(r.vid, b);
          if (equal && first && *first != *found)
            throw broken_promise{"replicas differ at rest: " + std::to_string(*found) + at +
                                 ", and elsewhere " + std::to_string(*first)};
          first = found;
        }
      }
    }
    if (!unequal_may_differ) look_for_leftovers();
    scene_.happened.repairs = scene_.driver.repairs_done;
    scene_.happened.kept = static_cast<std::uint32_t>(scene_.driver.kept);
    scene_.happened.kept_partly = scene_.driver.kept_partly;
    scene_.happened.forgotten = scene_.driver.forgotten;
    scene_.happened.fences = scene_.driver.fences;
    scene_.happened.late_orders = scene_.driver.late;
    scene_.happened.late_refused = scene_.driver.refused;
    scene_.happened.refusals = scene_.driver.refusals;
    if (scene_.driver.lost_blocks != 0 && !scene_.shape.beyond)
      throw broken_promise{"a repair found no sound replica"};
  }

  /// What belongs elsewhere since a volume was spread is gone.
  void look_for_leftovers() {
    for (const wire::afa::volume_record& r : scene_.driver.manager.volumes()) {
      if (daemon::is_moving(r.spread))
        throw broken_promise{"volume " + std::to_string(r.vid) + " is half spread at rest"};
      if (!scene_.checker.knows(r.vid)) continue;
      const daemon::membership& m = scene_.driver.serving();
      for (std::uint32_t k = 0; k < scene_.shape.ssds; ++k) {
        if (m.others.place_of(k) < r.ssd_count || (m.absent >> k & 1) != 0) continue;
        const auto has = scene_.array.report(k).volumes;
        const bool kept = std::any_of(has.begin(), has.end(),
                                      [&](const auto& other) { return other.vid == r.vid; });
        if (kept)
          throw broken_promise{"SSD " + std::to_string(k) + " has kept volume " +
                               std::to_string(r.vid) + ", which does not lie there"};
      }
      for (std::uint32_t k = 0; k < scene_.shape.ssds; ++k) {
        const std::uint32_t place = m.others.place_of(k);
        if (place >= r.ssd_count || (m.absent >> k & 1) != 0) continue;
        scene_.array.sweep(k);
        for (std::uint32_t b = 0; b < r.capacity_blocks; ++b) {
          const bool belongs = rendezvous_placement(r.ssd_count)
                                   .holds(volume_id(r.vid), r.hash_factor, b / r.stripe_blocks,
                                          r.replicas, ssd_index(static_cast<std::uint16_t>(place)));
          if (!belongs && scene_.array.look(k, r, b) != 0)
            throw broken_promise{"SSD " + std::to_string(k) + " has kept block " +
                                 std::to_string(b) + " of volume " + std::to_string(r.vid)};
        }
      }
    }
  }

  scene scene_;
  tenants tenants_;
  hostile_host hostile_;
  misfortunes misfortunes_;
  std::uint32_t noted_epoch_ = 0;
  daemon::membership noted_{};
};

}  // namespace gnstor::test

#pragma once

#include "hostile_host.hpp"
#include "tenants.hpp"

namespace gnstor::test {

/// Faults at the rates of the seed's swarm, never so many that data must be lost; and those who put
/// things right: new SSDs for failed ones, scrubs for bad pages.
class misfortunes {
 public:
  misfortunes(scene& s, tenants& t, hostile_host& h) : s_(s), tenants_(t), hostile_(h) {}

  void step() {
    draws& d = s_.dice;
    const bool enough =
        s_.happened.deaths + s_.happened.silences + s_.happened.partitions >= most_failures;
    if (enough && s_.shape.beyond)
      s_.shape.power_cuts = s_.shape.manager_crashes = s_.shape.client_deaths = 0;
    if (s_.happened.power_cuts < most_interruptions && d.one_in(s_.shape.power_cuts)) power_cut();
    if (!enough && d.one_in(s_.shape.deaths)) {
      const std::uint32_t k = d.below(s_.shape.ssds);
      if (s_.may_lose(k)) {
        ++s_.happened.deaths;
        s_.note("SSD " + std::to_string(k) + " dies");
        s_.note_losses(true);
        s_.driver.broken |= std::uint64_t{1} << k;
        s_.array.set_fault(k, d.one_in(2) ? fw::ssd_fault::dead : fw::ssd_fault::silent);
      }
    }
    if (!enough && d.one_in(s_.shape.silences)) {
      const std::uint32_t k = d.below(s_.shape.ssds);
      if (s_.may_lose(k) && s_.array.fault(k) == fw::ssd_fault::none) {
        ++s_.happened.silences;
        s_.note("SSD " + std::to_string(k) + " is silent");
        s_.note_losses(true);
        s_.array.set_fault(k, fw::ssd_fault::silent);
        silent_.push_back({k, s_.now_ns + d.below(1'000'000)});
      }
    }
    if (!enough && d.one_in(s_.shape.partitions)) cut_off(d.below(s_.shape.ssds));
    if (d.one_in(s_.shape.front_end_cuts)) cut_off_front_end();
    if (s_.happened.exchanges < most_failures && d.one_in(s_.shape.exchanges)) exchange();
    if (s_.happened.maintenances < most_failures && d.one_in(s_.shape.maintenances))
      wants_out_ = true;
    if (wants_out_ && (tenants_.any_rests() || d.one_in(10'000))) take_out();
    for (std::size_t k = 0; k < silent_.size();) {
      if (silent_[k].second > s_.now_ns) {
        ++k;
        continue;
      }
      const std::uint32_t ssd = silent_[k].first;
      const bool present = (s_.driver.broken >> ssd & 1) == 0;
      if (present && s_.array.fault(ssd) == fw::ssd_fault::silent)
        s_.array.set_fault(ssd, fw::ssd_fault::none);
      silent_.erase(silent_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    if (d.one_in(s_.shape.damages)) damage();
    if (d.one_in(s_.shape.stalls)) s_.stall_some_engine();
    if (s_.happened.client_deaths < most_interruptions && d.one_in(s_.shape.client_deaths)) {
      const std::uint32_t k = d.below(s_.shape.clients);
      ++s_.happened.client_deaths;
      s_.note("client " + std::to_string(k) + " dies");
      s_.clients[k]->die(s_.array, s_.now_ns + d.below(2'000'000));
      if (d.one_in(2)) s_.driver.manager.client_gone(s_.clients[k]->line.client().value);
      tenants_.client_died(k);
    }
    if (s_.happened.manager_crashes < most_interruptions && d.one_in(s_.shape.manager_crashes))
      crash_manager();
    if (d.one_in(s_.shape.corrupted)) corrupt();
    mend();
    s_.forgive();
    replace_failed();
  }

  /// The manager hears of SSDs that have said they lost something.
  void tell_of_doomed() {
    if (s_.driver.is_down(s_.now_ns)) return;
    for (std::uint32_t s = 0; s < s_.shape.ssds; ++s) {
      // At the end nobody's request meets a dead one any more.
      const std::uint64_t known = s_.driver.doomed | (s_.ending ? s_.driver.broken : 0);
      if ((known >> s & 1) != 0) (void)s_.driver.complain(s_.array.befell, s);
    }
  }

 private:
  /// In a world: where SSDs fail for ever nothing is ever filled, and nobody opens a torn volume.
  static constexpr std::uint32_t most_failures = 24;
  /// In a world, of each kind: power cuts, and ends of managers and of clients. What fills an SSD
  /// or makes replicas equal begins anew after one. Where it takes longer than the time between two
  /// of them, as with many SSDs and volumes that are large for a world, it seldom ends.
  static constexpr std::uint32_t most_interruptions = 48;

  /// The manager does not reach an SSD for a while, or it does not reach the manager; clients do.
  void cut_off(std::uint32_t k) {
    if (s_.driver.orders.is_cut(k, s_.now_ns) || !s_.may_lose(k)) return;
    ++s_.happened.partitions;
    const bool answers_only = s_.dice.one_in(2);
    s_.note((answers_only ? "the manager does not hear SSD " : "the manager does not reach SSD ") +
            std::to_string(k));
    s_.note_losses(true);
    s_.driver.orders.cut(k, s_.now_ns + s_.dice.below(3'000'000), answers_only);
  }
  /// No manager reaches the array's front end for a while; clients do.
  void cut_off_front_end() {
    if (s_.driver.is_front_end_cut()) return;
    ++s_.happened.front_end_cuts;
    s_.note("the manager does not reach the front end");
    s_.driver.cut_front_end(s_.array.befell, s_.now_ns + s_.dice.below(3'000'000));
  }
  /// Somebody takes an SSD out that is well, to bring it back soon.
  void take_out() {
    wants_out_ = false;
    const std::uint32_t k = s_.dice.below(s_.shape.ssds);
    const std::uint64_t out = s_.driver.serving().absent | s_.driver.serving().filling;
    const bool well = ((out | s_.driver.broken | s_.driver.doomed) >> k & 1) == 0;
    if (s_.damaged) return;  // it would bring a bad page back
    if (!well || s_.array.fault(k) != fw::ssd_fault::none || s_.driver.is_down(s_.now_ns)) return;
    if (!s_.may_lose(k)) return;
    ++s_.happened.maintenances;
    s_.note("SSD " + std::to_string(k) + " is taken out");
    s_.note_losses(true);
    s_.driver.manager.ssd_leaves(k, s_.now_ns + 200'000 + s_.dice.below(20'000'000));
    s_.array.befell.manager_hears(k);
  }
  /// A spare that could serve somewhere; nothing: there is none.
  std::optional<std::uint32_t> free_spare(std::uint32_t place) const {
    const daemon::membership& m = s_.driver.serving();
    for (std::uint32_t k = s_.shape.places(); k < s_.shape.ssds; ++k) {
      const bool free = (m.absent >> k & 1) != 0 && m.others.place_of(k) == k &&
                        !s_.driver.orders.is_cut(k, s_.now_ns) &&
                        ((s_.driver.broken | s_.driver.doomed) >> k & 1) == 0;
      if (free && s_.driver.manager.may_stand_in(k, place) == daemon::manager::hindrance::none)
        return k;
    }
    return std::nullopt;
  }
  /// An SSD begins with nothing at a place at which another one serves: what it lacked before makes
  /// nothing less safe.
  void begins_beside(std::uint32_t ssd, std::uint32_t place) {
    const daemon::membership& m = s_.driver.serving();
    const std::uint64_t it = std::uint64_t{1} << ssd;
    if ((m.at(place) & m.in_sync() & ~it) != 0) s_.unsound &= ~it;
  }
  void stand_in(std::uint32_t ssd, std::uint32_t place) {
    s_.note("SSD " + std::to_string(ssd) + " is to serve at place " + std::to_string(place));
    begins_beside(ssd, place);
    s_.driver.follow(s_.array, ssd);
    auto has = s_.array.bring_back(ssd);
    s_.driver.manager.ssd_stands_in(ssd, place, std::move(has), s_.array.report(ssd));
  }
  /// Somebody has a spare follow an SSD that serves; or calls that off.
  void exchange() {
    if (s_.driver.is_down(s_.now_ns)) return;
    const std::uint32_t place = s_.dice.below(s_.shape.places());
    const daemon::membership& m = s_.driver.serving();
    if ((m.at(place) & m.in_sync()) == 0) return;
    if (const auto under_way = s_.driver.manager.successor_at(place)) {
      // Its place's own SSD, too: that one comes back after each.
      if (s_.happened.calls_off >= most_failures) return;
      ++s_.happened.calls_off;
      s_.note("SSD " + std::to_string(*under_way) + " is not to follow any more");
      s_.driver.manager.ssd_failed(*under_way);
      return;
    }
    const auto spare = free_spare(place);
    if (!spare) return;
    ++s_.happened.exchanges;
    stand_in(*spare, place);
  }
  /// Power goes in the middle of an engine's round, and comes back.
  void power_cut() {
    ++s_.happened.power_cuts;
    s_.note("power cut");
    s_.lane.set_fuse(1 + s_.dice.below(80));
    try {
      for (std::uint32_t k = 0; k < 20 && s_.lane.has_fuse(); ++k)
        (void)s_.array.tick(s_.dice.below(s_.array.roles()));
    } catch (const simt::host::lone_lane::fuse_blown&) {
    }
    s_.lane.set_fuse(0);
    std::uint64_t weak = 0;
    const std::uint32_t k = s_.dice.below(s_.shape.ssds);
    if (s_.shape.weak_capacitors != 0 && s_.dice.one_in(s_.shape.weak_capacitors) && s_.may_lose(k))
      weak = std::uint64_t{1} << k;
    const std::uint64_t unsaved = s_.array.power_cycle(s_.dice, weak);
    for (std::uint32_t s = 0; s < s_.shape.ssds; ++s) s_.array.befell.sees(s, s_.array.report(s));
    for (const auto& c : s_.clients) c->lose_power();
    s_.driver.lose_power(s_.now_ns);
    hostile_.lose_power();
    silent_.clear();
    for (std::uint32_t s = 0; s < s_.shape.ssds; ++s) {
      if ((unsaved >> s & 1) == 0) continue;
      ++s_.happened.unsaved;
      s_.driver.doomed |= std::uint64_t{1} << s;
      s_.array.set_fault(s, fw::ssd_fault::dead);  // it says so: nobody may read it
      s_.note_losses(true);
    }
    tell_of_doomed();
    if (s_.dice.one_in(2)) crash_manager();
  }
  /// One at last lives long enough to make replicas equal: each begins that anew.
  void crash_manager() {
    if (s_.crashes_without_answer++ >= 20) return;
    ++s_.happened.manager_crashes;
    s_.note("the manager crashes");
    s_.driver.crash(s_.dice, s_.array, s_.now_ns);
    tenants_.manager_crashed();
  }

  /// One replica of something goes bad; all others of its block are sound until it is mended.
  void damage() {
    const std::uint32_t k = s_.dice.below(s_.shape.ssds);
    if (s_.damaged || s_.unsound != 0 || !s_.may_lose(k) || !s_.array.damage(s_.dice, k)) return;
    ++s_.happened.damages;
    s_.note("a page of SSD " + std::to_string(k) + " goes bad");
    s_.damaged = k;
    s_.array.befell.goes_bad(k);
    scrubbing_ = 0;
  }
  /// Has all volumes scrubbed, until that has been done once without a disturbance. An SSD that is
  /// away keeps its bad page until it is back.
  void mend() {
    if (!s_.damaged || !s_.driver.is_idle() || s_.driver.is_down(s_.now_ns)) return;
    const daemon::membership& m = s_.driver.serving();
    if (((m.absent | m.filling) >> *s_.damaged & 1) != 0 && !s_.is_at_rest(*s_.damaged)) {
      scrubbing_ = 0;
      return;
    }
    if (scrubbing_ != 0 && s_.driver.scrubs_done >= scrubbing_) return mended();
    if (s_.now_ns < scrub_again_ns_) return;
    scrub_again_ns_ = s_.now_ns + 100'000;
    scrubbing_ = s_.driver.scrubs_done;
    for (const wire::afa::volume_record& r : s_.driver.manager.volumes()) {
      s_.driver.manager.scrub(r.vid);
      ++scrubbing_;
    }
    if (scrubbing_ == s_.driver.scrubs_done) mended();  // there is no volume
  }
  void mended() {
    s_.damaged.reset();
    s_.array.befell.is_mended();
  }

  /// A corrupted entry: what the transport's checksum would stop, as far as the NIC can tell.
  void corrupt() {
    const std::uint32_t q = s_.dice.below(s_.shape.clients);
    fw::queue_context& c = s_.array.queue(q);
    if (c.active != static_cast<std::uint32_t>(fw::queue_life::serving)) return;
    ++s_.happened.corrupted;
    s_.note("an entry of queue " + std::to_string(q) + " is corrupted");
    auto* ring = reinterpret_cast<unsigned char*>(c.at.send_ring);
    // The control segment of an entry that may be under way: opcode and size.
    const std::uint32_t entry = s_.dice.below(c.at.send_entries / 2) * 2;
    s_.array.befell.corrupted(q);
    ring[64 * entry + 3] ^= static_cast<unsigned char>(1 + s_.dice.below(255));
  }

  /// Puts new SSDs where the manager knows that old ones have failed, or the old ones again.
  void replace_failed() {
    std::uint64_t absent = s_.driver.serving().absent;
    homesick_ &= absent;
    for (std::uint32_t k = 0; k < s_.shape.ssds; ++k) {
      const std::uint64_t it = std::uint64_t{1} << k;
      const bool stays = s_.is_at_rest(k) && ((s_.driver.broken | s_.driver.doomed) & it) == 0;
      if (!stays || (absent & it) == 0) continue;
      if (k < s_.shape.places() && s_.dice.one_in(8'000)) homesick_ |= it;
      if ((homesick_ & it) == 0) absent &= ~it;
    }
    waits_to_replace_ = waits_to_replace_ || homesick_ != 0;
    if (absent == 0 || s_.driver.is_down(s_.now_ns)) {
      waits_to_replace_ = false;
      s_.hold(s_.ending);
      return;
    }
    bool any_planned = false;
    for (std::uint32_t k = 0; k < s_.shape.ssds; ++k)
      any_planned = any_planned || s_.driver.manager.absences().planned(k) != nullptr;
    if (!waits_to_replace_ && !s_.dice.one_in(s_.ending ? 1 : any_planned ? 800 : 4000)) return;
    waits_to_replace_ = true;
    s_.hold(true);
    if (!s_.array.is_idle() || !s_.driver.is_idle()) return;
    for (std::uint32_t k = 0; k < s_.shape.ssds; ++k) {
      if ((absent >> k & 1) == 0 || s_.driver.orders.is_cut(k, s_.now_ns)) continue;
      const std::uint32_t place = s_.driver.serving().others.place_of(k);
      const std::uint64_t there = s_.driver.serving().at(place) & ~s_.driver.serving().absent;
      const auto spare = there == 0 && s_.dice.one_in(2) ? free_spare(place) : std::nullopt;
      if (spare) {
        stand_in(*spare, place);
        break;  // others later: that one is not free any more
      }
      const bool planned = s_.driver.manager.absences().planned(k) != nullptr;
      const bool same =
          (planned ? !s_.dice.one_in(8) : s_.dice.one_in(2)) && (s_.driver.doomed >> k & 1) == 0;
      s_.note("SSD " + std::to_string(k) + (same ? " comes back" : " is replaced"));
      std::vector<std::uint16_t> has;
      std::optional<daemon::ssd_report> says;
      s_.happened.returns += same ? 1 : 0;
      if (!same) {
        s_.array.replace(k);
        s_.driver.replaced(k);
      }
      s_.driver.follow(s_.array, k);
      if (same) {
        has = s_.array.bring_back(k);
        says = s_.array.report(k);
      }
      s_.driver.broken &= ~(std::uint64_t{1} << k);
      s_.driver.doomed &= ~(std::uint64_t{1} << k);
      // Nobody attaches one that the manager has had back since.
      if ((s_.driver.serving().absent >> k & 1) == 0) s_.array.set_fault(k, fw::ssd_fault::none);
      begins_beside(k, place);
      if (place < s_.shape.places())
        s_.driver.manager.ssd_replaced(k, std::move(has), std::move(says));
    }
    waits_to_replace_ = false;
    s_.hold(s_.ending);
  }

  scene& s_;
  tenants& tenants_;
  hostile_host& hostile_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> silent_;
  std::uint64_t scrub_again_ns_ = 0;
  std::uint64_t scrubbing_ = 0;  ///< scrubs that must have ended until a bad page is mended
  std::uint64_t homesick_ = 0;   ///< SSDs, by bit, that are to serve at their places again
  bool waits_to_replace_ = false;
  bool wants_out_ = false;  ///< somebody is about to take an SSD out
};

}  // namespace gnstor::test

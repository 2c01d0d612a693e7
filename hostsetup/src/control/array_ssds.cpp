/// What an operator does with an array's SSDs, and what the manager says of them.

#include "array_manager.hpp"
#include "called.hpp"
#include <base/log.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace gnstor::host {

using wire::afa::volume_record;

void array_manager::need_ssd(std::uint32_t ssd) const {
  if (ssd < options_.ssds) return;
  throw control_error(control_reason::unknown_ssd,
                      fmt::format("SSD {}: the array has {}", ssd, options_.ssds),
                      fmt::format("use 0 to {}", options_.ssds - 1));
}

/// Waits until something holds of what the array does, or the time for a request is over.
void array_manager::await(std::unique_lock<std::mutex>& lock, const std::string& what,
                          const std::function<bool()>& holds) {
  work_.notify_all();
  const bool in_time = answered_.wait_for(lock, settings_.request_timeout,
                                          [&] { return stopping_ || !ended_.empty() || holds(); });
  check_rule(what);
  if (in_time && !stopping_) return;
  throw control_error(
      control_reason::timed_out,
      what + ": not done in time, and it may be done yet; the manager is at: " + core_.standing(),
      "look at the state before trying again");
}

/// Makes the replicas of those volumes equal that nobody may write, so that what an SSD has of them
/// counts when it is back. One that cannot be is filled then.
void array_manager::make_equal(std::uint32_t ssd) {
  const auto until = std::chrono::steady_clock::now() + settings_.request_timeout / 2;
  std::vector<std::uint16_t> all;
  {
    const std::lock_guard lock(guard_);
    all = core_.unequal();
  }
  for (const std::uint16_t vid : all) {
    if (std::chrono::steady_clock::now() >= until) return;
    try {
      (void)ask(fmt::format("making the replicas of volume {} equal", vid),
                [&](std::uint64_t id) { core_.make_equal(id, vid); });
    } catch (const control_error& e) {
      log(log_level::warning, fmt::format("SSD {} is to be taken out: {}", ssd, e.what()));
    }
  }
}

void array_manager::detach(std::uint32_t ssd, bool force, std::chrono::milliseconds maintenance) {
  need_ssd(ssd);
  if (maintenance.count() != 0) make_equal(ssd);
  std::unique_lock lock(guard_);
  need_rule(fmt::format("detaching SSD {}", ssd));
  if ((core_.serving().absent >> ssd & 1) != 0) {
    throw control_error(control_reason::bad_request, fmt::format("SSD {} is absent already", ssd),
                        "gnstorctl ssd replace brings it, or another one in its place, back");
  }
  if (const volume_record* torn = force ? nullptr : core_.torn_without(ssd)) {
    throw control_error(
        control_reason::unavailable,
        fmt::format("detaching SSD {}: blocks of {} would be on no SSD that is in sync", ssd,
                    called(*torn)),
        "bring the absent ones back first and let them be filled (gnstorctl ssd list), or use "
        "--force");
  }
  returns_.taken_out(ssd);
  if (maintenance.count() == 0) {
    core_.ssd_failed(ssd);
    say(fmt::format("SSD {} was detached", ssd));
  } else {
    core_.ssd_leaves(ssd, now() + static_cast<std::uint64_t>(maintenance.count()) * 1'000'000);
    say(fmt::format("SSD {} was taken out, for {} s at most", ssd, maintenance.count() / 1000));
  }
  await(lock, fmt::format("detaching SSD {}", ssd),
        [&] { return core_.knows_epoch() && (core_.published().absent >> ssd & 1) != 0; });
  note_absence(ssd);
}

/// Tells the next manager what an SSD that is out for planned work has, and until when that counts.
void array_manager::note_absence(std::uint32_t ssd) {
  const auto* const a = core_.absences().planned(ssd);
  if (a == nullptr) return journal_->back(ssd);
  const std::uint64_t today = now();
  const std::chrono::milliseconds left((a->until > today ? a->until - today : 0) / 1'000'000);
  journal_->away(ssd, {a->epoch, journal_->now() + left, a->volumes});
}

/// What the manager before has left of SSDs that are out for planned work.
/// @par Callers the constructor
void array_manager::take_up_absences() {
  for (const auto& [ssd, a] : journal_->absences()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(a.until - journal_->now());
    const bool counts = ssd < options_.ssds && is_out(ssd) && left.count() > 0;
    if (counts) {
      const auto until = now() + static_cast<std::uint64_t>(left.count());
      core_.restore_absence(ssd, {.epoch = a.epoch, .until = until, .volumes = a.volumes});
    }
    const auto* const kept = counts ? core_.absences().planned(ssd) : nullptr;
    if (kept != nullptr) {
      say(
          fmt::format("SSD {} is out for planned work for {} s more, with {} volumes as it left "
                      "them",
                      ssd, left.count() / 1'000'000'000, kept->volumes.size()));
    } else {
      journal_->back(ssd);
    }
  }
}

/// What an SSD says of itself. Throws `control_error` if it does not answer.
daemon::ssd_report array_manager::asked(std::uint32_t ssd) {
  try {
    const wire::afa::array_description said = client_.describe(ssd);
    daemon::ssd_report says;
    says.serving = {said.epoch, said.absent, said.filling, said.others()};
    says.volumes = client_.list(ssd, said.epoch);
    return says;
  } catch (const error& e) {
    throw control_error(control_reason::unavailable,
                        fmt::format("SSD {} does not answer: {}", ssd, e.what()),
                        "see whether it is plugged in and powered");
  }
}

void array_manager::replace(std::uint32_t ssd) {
  need_ssd(ssd);
  {
    const std::lock_guard lock(guard_);
    need_rule(fmt::format("taking SSD {} into the array", ssd));
    if ((core_.serving().absent >> ssd & 1) == 0) {
      throw control_error(control_reason::bad_request,
                          fmt::format("SSD {} takes part in the array", ssd),
                          "detach it first (gnstorctl ssd detach)");
    }
    if (core_.aim_of(ssd) == daemon::ssd_aim::spare &&
        core_.serving().others.place_of(ssd) == ssd) {
      throw control_error(control_reason::bad_request,
                          fmt::format("SSD {} is a spare, and no volume is to lie on it", ssd),
                          fmt::format("gnstorctl ssd add {} makes it an SSD like others; ssd "
                                      "replace N --with {} has it serve for another one",
                                      ssd, ssd));
    }
  }
  daemon::ssd_report says = asked(ssd);
  std::vector<std::uint16_t> has;
  for (const volume_record& r : says.volumes) has.push_back(r.vid);
  std::unique_lock lock(guard_);
  if (const std::uint32_t place = core_.serving().others.place_of(ssd); !core_.has_room_at(place)) {
    throw control_error(
        control_reason::bad_request,
        fmt::format("taking SSD {} into the array: another one serves at its place, and a volume "
                    "has so many replicas that no two can",
                    ssd),
        "detach that one first (gnstorctl ssd list), or delete or copy the volume");
  }
  unfit_ &= ~(std::uint64_t{1} << ssd);
  returns_.taken_in(ssd);
  if (const std::uint64_t later = needed_before(ssd); later != 0) {
    say(fmt::format(
        "SSD {} is taken in while SSD {} is not in sync: what lies on these alone may be "
        "lost",
        ssd, std::countr_zero(later)));
  }
  core_.ssd_replaced(ssd, std::move(has), std::move(says));
  say(fmt::format("SSD {} is taken into the array again", ssd));
  const auto refused = [&] { return (unfit_ >> ssd & 1) != 0; };
  await(lock, fmt::format("taking SSD {} into the array", ssd),
        [&] { return refused() || (core_.published().absent >> ssd & 1) == 0; });
  if (refused()) {
    throw control_error(control_reason::failed,
                        fmt::format("SSD {} cannot take its place: it refuses what it is ordered, "
                                    "or failed meanwhile",
                                    ssd),
                        "see gnstord's log; another SSD may do");
  }
}

/// Says what is to become of an SSD, also to whoever manages the array next.
void array_manager::plan_for(std::uint32_t ssd, daemon::ssd_aim aim) {
  const std::uint64_t it = std::uint64_t{1} << ssd;
  journal_->plan(ssd, aim);
  core_.set_aim(ssd, aim);
  const bool moves = aim == daemon::ssd_aim::drain || aim == daemon::ssd_aim::join;
  moving_ = moves ? moving_ | it : moving_ & ~it;
}

/// Goes on with what was begun under the manager before: unless yet another one has been in charge
/// since that journal was written, of whose plans it knows nothing. @par Callers the constructor
void array_manager::take_up_plans() {
  const bool up_to_date = journal_->last_term() == former_term_;
  journal_->term_begins(term_);
  for (const auto& [ssd, aim] : journal_->plans()) {
    const bool serves_nothing_of_its_own =
        ssd < options_.ssds && !core_.is_used(ssd) &&
        (is_out(ssd) || core_.serving().others.place_of(ssd) != ssd);
    if (aim == daemon::ssd_aim::spare &&
        serves_nothing_of_its_own) {  // whoever was in charge since
      plan_for(ssd, aim);
      continue;
    }
    if (!up_to_date || ssd >= options_.ssds) {
      journal_->plan(ssd, daemon::ssd_aim::none);
      say(fmt::format("SSD {} is not {} further: another manager has been in charge since", ssd,
                      aim == daemon::ssd_aim::drain   ? "drained"
                      : aim == daemon::ssd_aim::spare ? "a spare"
                                                      : "given its share"));
      continue;
    }
    if (aim == daemon::ssd_aim::spare) {
      journal_->plan(ssd, daemon::ssd_aim::none);
      continue;
    }
    plan_for(ssd, aim);
    const daemon::manager::ssd_plan now = core_.plans()[ssd];
    if (now.left == 0) {  // that was said when it was so
      moving_ &= ~(std::uint64_t{1} << ssd);
      if (aim == daemon::ssd_aim::join) plan_for(ssd, daemon::ssd_aim::none);
      continue;
    }
    say(fmt::format("SSD {} is {} further: {} volumes are left", ssd,
                    aim == daemon::ssd_aim::drain ? "drained" : "given its share", now.left));
  }
}

/// Says of SSDs that they are empty, or have their share.
void array_manager::note_aims() {
  if (moving_ == 0) return;
  const auto plans = core_.plans();
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((moving_ >> k & 1) == 0) continue;
    const daemon::manager::ssd_plan& plan = plans[k];
    if (plan.left != 0) continue;
    moving_ &= ~(std::uint64_t{1} << k);
    const bool drained = plan.aim == daemon::ssd_aim::drain;
    say(drained ? fmt::format("SSD {} is empty: no volume lies on it", k)
                : fmt::format("SSD {} has its share of every volume", k));
    if (!drained) plan_for(k, daemon::ssd_aim::none);
  }
}

/// Asks the front end something that changes nothing. Throws `control_error`.
template <class Answer>
Answer array_manager::from_front_end(const char* what, Answer (array_front_end::*question)()) {
  {
    const std::lock_guard lock(guard_);
    need_rule(what);
  }
  try {
    return (front_end_.get()->*question)();
  } catch (const io_error& e) {
    const std::lock_guard lock(guard_);
    if (notices_end(e.outcome())) need_rule(what);
    throw control_error(control_reason::unavailable, fmt::format("{}: {}", what, e.what()),
                        "try again");
  } catch (const error& e) {
    throw control_error(control_reason::unavailable, fmt::format("{}: {}", what, e.what()),
                        "try again");
  }
}

array_front_end::connected array_manager::connected() {
  return from_front_end("listing hosts", &array_front_end::hosts);
}
std::vector<connected_host> array_manager::hosts() { return connected().hosts; }

std::vector<wire::afa::traffic_record> array_manager::traffic() {
  return from_front_end("asking for the traffic of volumes", &array_front_end::traffic);
}

array_state array_manager::state() const {
  const std::lock_guard lock(guard_);
  array_state a;
  const daemon::membership& serving = core_.serving();
  const auto plans = core_.plans();
  a.epoch = core_.published().epoch;
  a.settled = core_.knows_epoch() && a.epoch == serving.epoch;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    ssd_state s;
    s.index = k;
    s.answers = looks_[k].answers;
    s.standing = (serving.absent >> k & 1) != 0    ? ssd_standing::absent
                 : (serving.filling >> k & 1) != 0 ? ssd_standing::filling
                                                   : ssd_standing::in_sync;
    s.capacity_blocks = looks_[k].said.capacity_blocks;
    s.free_blocks = looks_[k].said.free_blocks;
    s.moved_blocks = looks_[k].said.moved_blocks;
    s.epoch = looks_[k].said.epoch;
    s.flash = looks_[k].flash;
    s.reports = complaints_[k].count;
    const auto* const out = core_.absences().planned(k);
    if (out != nullptr && out->until > now())
      s.maintenance_left = std::chrono::nanoseconds(out->until - now());
    const daemon::manager::ssd_plan& plan = plans[k];
    s.aim = plan.aim == daemon::ssd_aim::drain   ? ssd_aim::drain
            : plan.aim == daemon::ssd_aim::join  ? ssd_aim::join
            : plan.aim == daemon::ssd_aim::spare ? ssd_aim::spare
                                                 : ssd_aim::none;
    s.volumes = plan.volumes;
    s.volumes_left = plan.left;
    s.waits_for = plan.waits_for;
    note_places(s);
    a.ssds.push_back(s);
  }
  for (const repair_worker* const worker : {&converging_, &forgetting_, &following_, &repairs_}) {
    for (const repair_state& r : worker->state()) a.repairs.push_back(r);
  }
  a.capacity_blocks = capacity();
  a.provisioned_blocks = provisioned();
  for (const volume_record& r : core_.volumes()) {
    const volume_state v = state_of(r);
    ++a.volumes;
    a.torn += v.torn ? 1 : 0;
    a.degraded += v.degraded ? 1 : 0;
  }
  a.scrubs = scrubbed_;
  return a;
}

std::uint64_t array_manager::events_seen() const { return journal_->events_seen(); }

std::vector<array_event> array_manager::events(std::uint64_t from) const {
  return journal_->events(from);
}

}  // namespace gnstor::host

/// What an operator does with an array's SSDs, and what the manager says of them.

#include "array_manager.hpp"
#include "called.hpp"
#include <base/log.hpp>

#include <fmt/format.h>

#include <algorithm>

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
  if (maintenance.count() == 0) {
    core_.ssd_failed(ssd);
    say(fmt::format("SSD {} was detached", ssd));
  } else {
    core_.ssd_leaves(ssd, now() + static_cast<std::uint64_t>(maintenance.count()) * 1'000'000);
    say(fmt::format("SSD {} was taken out, for {} s at most", ssd, maintenance.count() / 1000));
  }
  await(lock, fmt::format("detaching SSD {}", ssd),
        [&] { return core_.knows_epoch() && (core_.published().absent >> ssd & 1) != 0; });
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
  }
  std::vector<std::uint16_t> has;
  daemon::ssd_report says;
  try {
    const wire::afa::array_description said = client_.describe(ssd);
    says.serving = {said.epoch, said.absent, said.filling};
    says.volumes = client_.list(ssd, said.epoch);
    for (const volume_record& r : says.volumes) has.push_back(r.vid);
  } catch (const error& e) {
    throw control_error(control_reason::unavailable,
                        fmt::format("SSD {} does not answer: {}", ssd, e.what()),
                        "see whether it is plugged in and powered");
  }
  std::unique_lock lock(guard_);
  unfit_ &= ~(std::uint64_t{1} << ssd);
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

/// Throws `control_error` unless an SSD is the last one of all volumes that lie on it, and the
/// others have room for what it holds.
void array_manager::need_drainable(std::uint32_t ssd) const {
  const std::string what = fmt::format("draining SSD {}", ssd);
  for (const volume_record& r : core_.volumes()) {
    if (r.ssd_count <= ssd) continue;
    for (std::uint32_t k = ssd + 1; k < r.ssd_count; ++k) {
      if (core_.aim_of(k) == daemon::ssd_aim::drain) continue;
      throw control_error(
          control_reason::bad_request,
          fmt::format("{}: {} lies on SSDs 0 to {}, and a volume can leave its last one only", what,
                      called(r), r.ssd_count - 1),
          fmt::format("drain SSD {} first; or take this one out for planned work (gnstorctl ssd "
                      "maintain {})",
                      r.ssd_count - 1, ssd));
    }
    if (r.replicas <= ssd) continue;
    throw control_error(control_reason::bad_request,
                        fmt::format("{}: {} has {} replicas, and would lie on {} SSDs", what,
                                    called(r), r.replicas, ssd),
                        "delete or copy that volume first");
  }
  const std::uint64_t there = capacity();
  const bool counts = core_.aim_of(ssd) != daemon::ssd_aim::drain;
  const std::uint64_t left = there - (counts ? looks_[ssd].said.capacity_blocks : 0);
  if (provisioned() + promised_blocks_ <= left) return;
  throw control_error(control_reason::no_room,
                      fmt::format("{}: volumes need {} bytes of flash with their replicas, and {} "
                                  "would be left",
                                  what, provisioned() * block_bytes, left * block_bytes),
                      "delete volumes, or add an SSD first");
}

/// Says what is to become of an SSD, also to whoever manages the array next.
void array_manager::plan_for(std::uint32_t ssd, daemon::ssd_aim aim) {
  const std::uint64_t it = std::uint64_t{1} << ssd;
  journal_->plan(ssd, aim);
  core_.set_aim(ssd, aim);
  moving_ = aim == daemon::ssd_aim::none ? moving_ & ~it : moving_ | it;
}

/// Goes on with what was begun under the manager before: unless yet another one has been in charge
/// since that journal was written, of whose plans it knows nothing. @par Callers the constructor
void array_manager::take_up_plans() {
  const bool up_to_date = journal_->last_term() + 1 == term_;
  journal_->term_begins(term_);
  for (const auto& [ssd, aim] : journal_->plans()) {
    if (!up_to_date || ssd >= options_.ssds) {
      journal_->plan(ssd, daemon::ssd_aim::none);
      say(fmt::format("SSD {} is not {} further: another manager has been in charge since", ssd,
                      aim == daemon::ssd_aim::drain ? "drained" : "given its share"));
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

void array_manager::drain(std::uint32_t ssd) {
  need_ssd(ssd);
  const std::lock_guard lock(guard_);
  need_rule(fmt::format("draining SSD {}", ssd));
  need_drainable(ssd);
  plan_for(ssd, daemon::ssd_aim::drain);
  say(fmt::format("SSD {} is being drained: {} volumes lie on it", ssd,
                  core_.plans()[ssd].volumes));
  work_.notify_all();
}

void array_manager::add(std::uint32_t ssd) {
  need_ssd(ssd);
  bool absent = false;
  {
    const std::lock_guard lock(guard_);
    need_rule(fmt::format("adding SSD {}", ssd));
    absent = (core_.serving().absent >> ssd & 1) != 0;
  }
  if (absent) replace(ssd);
  const std::lock_guard lock(guard_);
  need_rule(fmt::format("adding SSD {}", ssd));
  plan_for(ssd, daemon::ssd_aim::join);
  say(fmt::format("SSD {} is being given its share of {} volumes", ssd, core_.plans()[ssd].left));
  work_.notify_all();
}

void array_manager::keep(std::uint32_t ssd) {
  need_ssd(ssd);
  const std::lock_guard lock(guard_);
  need_rule(fmt::format("leaving the volumes of SSD {} where they are", ssd));
  const daemon::manager::ssd_plan plan = core_.plans()[ssd];
  if (plan.aim == daemon::ssd_aim::none) {
    throw control_error(control_reason::bad_request,
                        fmt::format("SSD {} is neither being drained nor being added", ssd),
                        "gnstorctl ssd list shows what is under way");
  }
  plan_for(ssd, daemon::ssd_aim::none);
  say(fmt::format("SSD {}: {} volumes stay where they are", ssd, plan.left));
  work_.notify_all();
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
  } catch (const error& e) {
    throw control_error(control_reason::unavailable, fmt::format("{}: {}", what, e.what()),
                        "try again");
  }
}

std::vector<connected_host> array_manager::hosts() {
  return from_front_end("listing hosts", &array_front_end::hosts).hosts;
}

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
    const auto* const out = core_.absences().of(k);
    if (out != nullptr && out->until > now())
      s.maintenance_left = std::chrono::nanoseconds(out->until - now());
    const daemon::manager::ssd_plan& plan = plans[k];
    s.aim = plan.aim == daemon::ssd_aim::drain  ? ssd_aim::drain
            : plan.aim == daemon::ssd_aim::join ? ssd_aim::join
                                                : ssd_aim::none;
    s.volumes = plan.volumes;
    s.volumes_left = plan.left;
    s.waits_for = plan.waits_for;
    a.ssds.push_back(s);
  }
  a.repairs = converging_.state();
  for (const repair_state& r : repairs_.state()) a.repairs.push_back(r);
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

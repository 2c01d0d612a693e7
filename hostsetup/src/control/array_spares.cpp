/// How an SSD of an array is emptied, given its share, or exchanged for another, and what spares
/// do.

#include "array_manager.hpp"
#include "called.hpp"
#include <base/log.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host {

using wire::afa::volume_record;

namespace {

/// Why an SSD cannot serve at the place of another, and what to do about it.
control_error refusal(const std::string& what, daemon::manager::hindrance why, std::uint32_t ssd,
                      std::uint32_t with) {
  using hindrance = daemon::manager::hindrance;
  switch (why) {
    case hindrance::used:
      return {control_reason::bad_request, fmt::format("{}: volumes lie on SSD {}", what, with),
              fmt::format("drain SSD {} first, or name one on which none does", with)};
    case hindrance::no_room:
      return {control_reason::no_room,
              fmt::format("{}: {} SSDs serve at places of others already, and no more can", what,
                          wire::afa::stand_ins::most),
              "put an SSD in the place of one of those that were pulled, and gnstorctl ssd replace "
              "it: who stands in for it is free again then"};
    case hindrance::under_way:
      return {control_reason::busy,
              fmt::format("{}: an SSD is being filled in its place already", what),
              fmt::format("gnstorctl ssd list says how far it is; gnstorctl ssd drain {} --cancel "
                          "ends an exchange",
                          ssd)};
    case hindrance::many_copies:
      return {control_reason::bad_request,
              fmt::format("{}: a volume has {} replicas, and no SSD can have them beside those",
                          what, wire::afa::max_replicas),
              "delete or copy that volume first"};
    case hindrance::absent_self:
      return {control_reason::bad_request, fmt::format("{}: SSD {} takes part", what, with),
              "detach it first (gnstorctl ssd detach)"};
    case hindrance::none: break;
  }
  return {control_reason::failed, what, ""};
}

}  // namespace

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
          fmt::format("have a spare take its place: make one of an SSD on which no volume lies "
                      "(gnstorctl ssd add N --spare), or drain SSD {} first",
                      r.ssd_count - 1));
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

/// Throws `control_error` unless an SSD serves, alone at its place.
void array_manager::need_exchangeable(std::uint32_t ssd) const {
  const std::string what = fmt::format("draining SSD {}", ssd);
  if (is_out(ssd)) {
    throw control_error(control_reason::bad_request,
                        fmt::format("{}: it is absent, and serves nothing", what),
                        fmt::format("gnstorctl ssd replace {} --with N has another SSD serve in "
                                    "its place",
                                    ssd));
  }
  if (const auto to = core_.successor_at(core_.serving().others.place_of(ssd))) {
    throw control_error(
        control_reason::busy,
        fmt::format("{}: SSD {} is being filled already with what it has", what, *to),
        fmt::format("gnstorctl --watch 1 ssd list says how far it is; gnstorctl ssd drain {} "
                    "--cancel ends it",
                    ssd));
  }
  if ((core_.serving().filling >> ssd & 1) == 0) return;
  throw control_error(control_reason::busy, fmt::format("{}: it is being filled itself", what),
                      "wait until it is in sync (gnstorctl ssd list)");
}

/// The first spare that may serve at a place; nothing: none may. @param but those, by bit
std::optional<std::uint32_t> array_manager::spare_for(std::uint32_t place,
                                                      std::uint64_t but) const {
  using hindrance = daemon::manager::hindrance;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    const bool free = core_.aim_of(k) == daemon::ssd_aim::spare && is_out(k) &&
                      core_.serving().others.place_of(k) == k && looks_[k].answers &&
                      (but >> k & 1) == 0;
    const bool fits = looks_[k].said.capacity_blocks >= looks_[place].said.capacity_blocks;
    if (free && fits && core_.may_stand_in(k, place) == hindrance::none) return k;
  }
  return std::nullopt;
}

/// Throws `control_error` unless an SSD is as large as another one.
void array_manager::need_fit(std::uint32_t ssd, std::uint32_t with) const {
  const std::uint64_t there = looks_[ssd].said.capacity_blocks;
  const std::uint64_t here = looks_[with].said.capacity_blocks;
  if (here >= there) return;
  throw control_error(control_reason::no_room,
                      fmt::format("SSD {} for SSD {}: it holds {} bytes, and that one {}", with,
                                  ssd, here * block_bytes, there * block_bytes),
                      "use one that is as large");
}

/// Has an SSD serve at a place, beside whoever does.
void array_manager::hand_over(std::uint32_t place, std::uint32_t to, daemon::ssd_report says) {
  std::vector<std::uint16_t> has;
  for (const volume_record& r : says.volumes) has.push_back(r.vid);
  unfit_ &= ~(std::uint64_t{1} << to);
  core_.ssd_stands_in(to, place, std::move(has), std::move(says));
  say(fmt::format("SSD {} is to serve in the place of SSD {}", to, place));
  work_.notify_all();
}

void array_manager::exchange(std::uint32_t ssd, std::uint32_t with) {
  need_ssd(ssd);
  need_ssd(with);
  const std::string what = fmt::format("exchanging SSD {} for SSD {}", ssd, with);
  std::uint32_t place = 0;
  {
    std::unique_lock lock(guard_);
    need_rule(what);
    place = core_.serving().others.place_of(ssd);
    if (!is_out(ssd)) need_exchangeable(ssd);
    if (ssd == with || core_.is_used(with))
      throw refusal(what, daemon::manager::hindrance::used, ssd, with);
    if (core_.serving().others.place_of(with) != with && !is_out(with)) {
      throw control_error(control_reason::bad_request,
                          fmt::format("{}: SSD {} serves in the place of SSD {}", what, with,
                                      core_.serving().others.place_of(with)),
                          "name an SSD that serves nothing (gnstorctl ssd list)");
    }
    if (!is_out(with)) {  // nobody needs it: it is to know nothing when it begins
      core_.ssd_failed(with);
      await(lock, what, [&] { return (core_.published().absent >> with & 1) != 0; });
    }
  }
  daemon::ssd_report says = asked(with);
  const wire::afa::array_description said = client_.describe(with);
  std::unique_lock lock(guard_);
  need_rule(what);
  looks_[with].said = said;
  need_fit(place, with);
  const auto why = core_.may_stand_in(with, place);
  if (why != daemon::manager::hindrance::none) throw refusal(what, why, ssd, with);
  hand_over(place, with, std::move(says));
  const auto refused = [&] { return (unfit_ >> with & 1) != 0; };
  await(lock, what, [&] {
    return refused() || ((core_.published().absent >> with & 1) == 0 &&
                         core_.published().others.place_of(with) == place);
  });
  if (!refused()) return;
  throw control_error(
      control_reason::failed,
      fmt::format("{}: SSD {} refuses what it is ordered, or failed meanwhile", what, with),
      "see gnstord's log; another SSD may do");
}

void array_manager::drain(std::uint32_t ssd) {
  need_ssd(ssd);
  std::optional<std::uint32_t> spare;
  {
    const std::lock_guard lock(guard_);
    const std::string what = fmt::format("draining SSD {}", ssd);
    need_rule(what);
    need_exchangeable(ssd);
    const bool elsewhere = core_.serving().others.place_of(ssd) != ssd;
    try {
      if (!elsewhere) {
        need_drainable(ssd);
        plan_for(ssd, daemon::ssd_aim::drain);
        say(fmt::format("SSD {} is being drained: {} volumes lie on it", ssd,
                        core_.plans()[ssd].volumes));
        work_.notify_all();
        return;
      }
      spare = spare_for(core_.serving().others.place_of(ssd));
    } catch (const control_error&) {
      spare = spare_for(ssd);
      if (!spare) throw;
    }
    if (!spare) {
      throw control_error(control_reason::bad_request,
                          fmt::format("{}: it serves in the place of SSD {}, and no spare is left",
                                      what, core_.serving().others.place_of(ssd)),
                          fmt::format("gnstorctl ssd replace {} has that one serve again",
                                      core_.serving().others.place_of(ssd)));
    }
  }
  exchange(ssd, *spare);
}

void array_manager::add(std::uint32_t ssd) {
  need_ssd(ssd);
  bool absent = false;
  {
    const std::lock_guard lock(guard_);
    need_rule(fmt::format("adding SSD {}", ssd));
    for (std::uint32_t k = 0; k < ssd; ++k) {
      if (core_.aim_of(k) != daemon::ssd_aim::spare || core_.is_used(k)) continue;
      throw control_error(control_reason::bad_request,
                          fmt::format("adding SSD {}: SSD {} before it is a spare", ssd, k),
                          fmt::format("gnstorctl ssd add {} first", k));
    }
    if (core_.serving().others.place_of(ssd) != ssd) {
      throw control_error(control_reason::bad_request,
                          fmt::format("adding SSD {}: it serves in the place of SSD {}", ssd,
                                      core_.serving().others.place_of(ssd)),
                          fmt::format("gnstorctl ssd replace {} first, which frees it",
                                      core_.serving().others.place_of(ssd)));
    }
    absent = is_out(ssd);
    if (core_.aim_of(ssd) == daemon::ssd_aim::spare) plan_for(ssd, daemon::ssd_aim::none);
  }
  if (absent) replace(ssd);
  const std::lock_guard lock(guard_);
  need_rule(fmt::format("adding SSD {}", ssd));
  plan_for(ssd, daemon::ssd_aim::join);
  say(fmt::format("SSD {} is being given its share of {} volumes", ssd, core_.plans()[ssd].left));
  work_.notify_all();
}

void array_manager::add_spare(std::uint32_t ssd) {
  need_ssd(ssd);
  const std::string what = fmt::format("making SSD {} a spare", ssd);
  std::unique_lock lock(guard_);
  need_rule(what);
  if (core_.is_used(ssd) || core_.serving().others.place_of(ssd) != ssd) {
    throw control_error(control_reason::bad_request, what + ": volumes lie on it",
                        fmt::format("gnstorctl ssd drain {} first", ssd));
  }
  if (ssd == 0) {
    throw control_error(control_reason::bad_request, what + ": no SSD would be left for volumes",
                        "spares are the last SSDs of an array");
  }
  for (std::uint32_t k = ssd + 1; k < options_.ssds; ++k) {
    const bool free = core_.aim_of(k) == daemon::ssd_aim::spare ||
                      core_.aim_of(k) == daemon::ssd_aim::drain ||
                      core_.serving().others.place_of(k) != k;
    if (free) continue;
    throw control_error(
        control_reason::bad_request,
        fmt::format("{}: new volumes are spread over SSD {} behind it, and over it", what, k),
        fmt::format("gnstorctl ssd add {} --spare first, or instead", k));
  }
  if (!looks_[ssd].answers) {
    throw control_error(control_reason::unavailable, fmt::format("{}: it does not answer", what),
                        "see whether it is plugged in and powered");
  }
  plan_for(ssd, daemon::ssd_aim::spare);
  say(fmt::format("SSD {} is a spare from now on", ssd));
  if (!is_out(ssd)) core_.ssd_failed(ssd);
  await(lock, what, [&] { return (core_.published().absent >> ssd & 1) != 0; });
}

void array_manager::keep(std::uint32_t ssd) {
  need_ssd(ssd);
  std::unique_lock lock(guard_);
  const std::string what = fmt::format("leaving the volumes of SSD {} where they are", ssd);
  need_rule(what);
  const std::uint32_t place = core_.serving().others.place_of(ssd);
  const auto to = is_out(ssd) ? std::nullopt : core_.successor_at(place);
  if (to && *to != ssd) {
    say(fmt::format("SSD {} stays: SSD {} does not serve in its place", ssd, *to));
    core_.ssd_failed(*to);
    return await(lock, what, [&] { return (core_.published().absent >> *to & 1) != 0; });
  }
  const daemon::manager::ssd_plan plan = core_.plans()[ssd];
  if (plan.aim == daemon::ssd_aim::none) {
    throw control_error(control_reason::bad_request,
                        fmt::format("SSD {} is neither being drained nor being added", ssd),
                        "gnstorctl ssd list shows what is under way");
  }
  plan_for(ssd, daemon::ssd_aim::none);
  say(plan.aim == daemon::ssd_aim::spare
          ? fmt::format("SSD {} is no spare any more", ssd)
          : fmt::format("SSD {}: {} volumes stay where they are", ssd, plan.left));
  work_.notify_all();
}

/// Places that are without an SSD, not for planned work, and have been for longest: those first for
/// which `spare_after` has passed.
std::vector<std::uint32_t> array_manager::empty_places(std::chrono::steady_clock::time_point now) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    bool empty = core_.is_used(k) && (core_.serving().at(k) & ~core_.serving().absent) == 0;
    for (std::uint32_t s = 0; s < options_.ssds && empty; ++s) {
      if ((core_.serving().at(k) >> s & 1) != 0) empty = core_.absences().planned(s) == nullptr;
    }
    if (!empty) {
      empty_since_.erase(k);
    } else if (now - empty_since_.try_emplace(k, now).first->second >= *settings_.spare_after) {
      all.push_back(k);
    }
  }
  std::stable_sort(all.begin(), all.end(), [this](std::uint32_t one, std::uint32_t other) {
    return empty_since_.at(one) < empty_since_.at(other);
  });
  return all;
}

/// Has spares serve at places that have been without an SSD for long: at the first one that some
/// spare can serve at. One that has refused to is left out until it is asked for by its number.
void array_manager::use_spares(std::unique_lock<std::mutex>& lock) {
  if (!settings_.spare_after) return;
  std::optional<std::uint32_t> place;
  std::optional<std::uint32_t> spare;
  for (const std::uint32_t k : empty_places(std::chrono::steady_clock::now())) {
    if (spare) break;
    place = k;
    spare = spare_for(k, unfit_);
  }
  if (!spare || !core_.idle() || stopping_) return;
  lock.unlock();
  std::optional<daemon::ssd_report> says;
  try {
    says = asked(*spare);
  } catch (const error& e) {
    log(log_level::warning, e.what());
  }
  lock.lock();
  if (!ended_.empty() || stopping_) return;
  const bool still = (core_.serving().at(*place) & ~core_.serving().absent) == 0 &&
                     spare_for(*place, unfit_) == spare;
  if (says && still) {
    hand_over(*place, *spare, std::move(*says));
  } else if (!says) {
    looks_[*spare].answers = false;  // until it was looked at again
  }
}

/// Says at whose place an SSD serves, and who does at its own.
void array_manager::note_places(ssd_state& s) const {
  const daemon::membership& serving = core_.serving();
  const std::uint32_t place = serving.others.place_of(s.index);
  if (place != s.index) s.stands_in_for = place;
  const std::uint64_t there = serving.at(place) & ~serving.absent & ~(std::uint64_t{1} << s.index);
  for (std::uint32_t k = 0; k < options_.ssds && !s.successor; ++k) {
    const bool follows = is_out(s.index) || (serving.filling >> k & 1) != 0;
    if ((there >> k & 1) != 0 && follows) s.successor = k;
  }
}

std::string array_manager::why_absent(std::uint32_t ssd) const {
  ssd_state s;
  s.index = ssd;
  note_places(s);
  const daemon::membership& now = core_.serving();
  if (core_.aim_of(ssd) == daemon::ssd_aim::spare)
    return fmt::format("SSD {} stands by in epoch {}", ssd, now.epoch);
  if (s.successor && (now.filling >> *s.successor & 1) == 0) {
    return fmt::format(
        "SSD {} has left in epoch {}: SSD {} serves in its place, and it can be "
        "pulled",
        ssd, now.epoch, *s.successor);
  }
  return fmt::format("SSD {} is absent in epoch {}", ssd, now.epoch);
}

}  // namespace gnstor::host

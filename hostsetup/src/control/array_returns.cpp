/// SSDs that an array's manager takes back by itself.

#include "array_manager.hpp"
#include <base/log.hpp>

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace gnstor::host {

/// Places, by bit, that are to be in sync before an absent SSD is taken in: who serves there left
/// later, or was being filled from it, and may have what it lacks.
std::uint64_t array_manager::needed_before(std::uint32_t ssd) const {
  const daemon::ssd_absences::absence* const left = core_.absences().of(ssd);
  return left == nullptr ? 0 : left->lost & ~left->together & ~core_.serving().sound_places();
}

/// True if an absent SSD is the one that failed, may serve where it did, and has most of what the
/// others have: taken back now, it is soon in sync.
bool array_manager::may_come_back(std::uint32_t ssd) const {
  const daemon::ssd_absences::absence* const left = core_.absences().of(ssd);
  const daemon::membership& serving = core_.serving();
  const bool empty = (serving.at(ssd) & ~serving.absent) == 0;
  return is_out(ssd) && empty && left != nullptr && left->partly && !left->planned &&
         looks_[ssd].answers && core_.aim_of(ssd) == daemon::ssd_aim::none;
}

/// Takes an SSD back that failed and has answered again for `back_after`.
void array_manager::take_back(std::unique_lock<std::mutex>& lock) {
  if (!settings_.back_after) return;
  const auto today = std::chrono::steady_clock::now();
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if (!is_out(k)) continue;
    returns_.seen(k, looks_[k].answers, today);
    if (!returns_.is_due(k, today, *settings_.back_after) || !may_come_back(k)) continue;
    if (returns_.keeps_failing(k, today)) {
      if (returns_.is_unreported(k, today)) {
        say(
            fmt::format("SSD {} has failed {} times within an hour: it stays out, until gnstorctl "
                        "ssd replace {} or a spare",
                        k, return_watch::most_failures, k));
      }
      continue;
    }
    const std::uint64_t later = needed_before(k);
    const bool is_said = (waiting_ >> k & 1) != 0;
    waiting_ = later == 0 ? waiting_ & ~(std::uint64_t{1} << k) : waiting_ | std::uint64_t{1} << k;
    if (later != 0 && !is_said) {
      say(fmt::format(
          "SSD {} answers again, and waits until SSD {} is in sync, which may have what "
          "it lacks",
          k, std::countr_zero(later)));
    }
    if (later != 0) continue;
    if (!core_.idle() || stopping_) return;
    lock.unlock();
    std::optional<daemon::ssd_report> says;
    try {
      says = asked(k);
    } catch (const error& e) {
      log(log_level::warning, e.what());
    }
    lock.lock();
    if (!ended_.empty() || stopping_) return;
    const bool same = says && may_come_back(k) && needed_before(k) == 0 &&
                      says->serving.epoch >= core_.absences().of(k)->epoch;
    returns_.seen(k, false, today);  // if it is not taken back, it is looked at for as long again
    if (!same) continue;
    std::vector<std::uint16_t> has;
    for (const wire::afa::volume_record& r : says->volumes) has.push_back(r.vid);
    say(fmt::format("SSD {} answers again, and is taken back", k));
    core_.ssd_replaced(k, std::move(has), std::move(says));
    return;
  }
}

}  // namespace gnstor::host

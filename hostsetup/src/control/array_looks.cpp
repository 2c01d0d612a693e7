/// What an array's manager notices: SSDs that do not serve, hosts that are gone, and its own end.

#include "array_manager.hpp"
#include "own_status.hpp"
#include <base/clipped.hpp>
#include <base/log.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gnstor::host {
namespace {

/// At one SSD, for hosts that report it again and again.
constexpr std::chrono::milliseconds between_looks{50};
/// That are events, of all hosts: or nobody would find others.
constexpr std::chrono::seconds between_complaints{60};
constexpr std::size_t most_words = 200;  ///< of a host, in bytes
constexpr std::size_t most_name = 223;   ///< likewise: an NQN

}  // namespace

/// Asks an SSD what it knows, and whether it serves. False: nothing is known of it.
bool array_manager::look_at_ssd(std::uint32_t ssd, bool takes_part, look& now, status& outcome) {
  outcome = {};
  try {
    now.said = client_.describe(ssd, term_);
    if (takes_part) outcome = client_.io(wire::nvme::make_flush(0, ssd + 1), {});
    if (outcome.ok()) look_at_flash(ssd, now);
  } catch (const io_error& e) {
    outcome = e.outcome();
  } catch (const error& e) {
    log(log_level::warning, e.what());
    return false;
  }
  return true;
}

/// Asks it now and then how worn it is. One that does not say, as those of an earlier version, is
/// as well as another.
void array_manager::look_at_flash(std::uint32_t ssd, look& now) {
  const auto today = std::chrono::steady_clock::now();
  if (today < now.flash_at + settings_.flash_every) return;
  now.flash_at = today;
  now.flash = {};
  try {
    now.flash = client_.describe_flash(ssd);
  } catch (const io_error&) {
    // The next look finds out whether it serves.
  }
}

/// Asks an SSD whether it serves: one that takes part and does not has failed.
void array_manager::look_at(std::uint32_t k, std::unique_lock<std::mutex>& lock) {
  const bool takes_part = !is_out(k);
  const look before = looks_[k];
  reported_ &= ~(std::uint64_t{1} << k);  // by who does so from now on it is looked at again
  lock.unlock();
  look now = before;
  status s;
  bool known = look_at_ssd(k, takes_part, now, s);
  // Where the machine is busy, one that is well may be late: it is asked once more.
  if (known && !s.ok() && takes_part && !is_lost(s)) known = look_at_ssd(k, takes_part, now, s);
  now.answers = s.ok();
  now.ended = std::chrono::steady_clock::now();
  s.ssd = static_cast<std::uint16_t>(k);
  lock.lock();
  if (!known || notices_end(s)) return;
  if (!now.answers) now.said = looks_[k].said;
  if (now.answers && !looks_[k].answers) unfit_ &= ~(std::uint64_t{1} << k);  // it may be another
  looks_[k] = now;
  note_complaint(k, now.answers && takes_part);
  if (now.answers || !takes_part || is_out(k)) return;
  say(
      fmt::format("SSD {} does not serve within {} ms, asked twice: {}; if it is well and the "
                  "machine is busy, use a longer --ssd-timeout",
                  k, settings_.ssd_timeout.count(), to_string(s)));
  core_.ssd_failed(k);
}

/// Asks each SSD.
void array_manager::look_at_ssds(std::unique_lock<std::mutex>& lock) {
  for (std::uint32_t k = 0; k < options_.ssds && !stopping_ && ended_.empty(); ++k)
    look_at(k, lock);
  if (!stopping_ && ended_.empty()) look_at_hosts(lock);
}

void array_manager::reported(std::optional<std::uint32_t> ssd, const std::string& host,
                             const std::string& words) {
  if (ssd) need_ssd(*ssd);
  const std::lock_guard lock(guard_);
  if (ssd) {
    complaint& c = complaints_[*ssd];
    ++c.count;
    std::string said = clipped(host, most_name) + ": " + clipped(words, most_words);
    std::replace_if(
        said.begin(), said.end(), [](unsigned char b) { return b < 0x20 || b == 0x7f; }, ' ');
    if (!is_out(*ssd)) c.last = std::move(said);
  }
  for (std::uint32_t k = 0; k < options_.ssds; ++k)
    if (!is_out(k) && ssd.value_or(k) == k) reported_ |= std::uint64_t{1} << k;
  work_.notify_all();
}

/// Looks at one SSD that hosts have reported, unless that was looked at just now. True: it did.
bool array_manager::looks_for_hosts(std::unique_lock<std::mutex>& lock) {
  const auto today = std::chrono::steady_clock::now();
  std::optional<std::uint32_t> next;  // who was looked at longest ago
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((reported_ >> k & 1) == 0 || today < looks_[k].ended + between_looks) continue;
    if (!next || looks_[k].ended < looks_[*next].ended) next = k;
  }
  if (next) look_at(*next, lock);
  return next.has_value();
}

/// Has somebody hear what hosts say of an SSD. @param serves this manager, which has looked at it
void array_manager::note_complaint(std::uint32_t ssd, bool serves) {
  std::string& last = complaints_[ssd].last;
  if (!serves) last.clear();
  const auto today = std::chrono::steady_clock::now();
  if (last.empty() || (complained_at_ && today < *complained_at_ + between_complaints)) return;
  complained_at_ = today;
  say(fmt::format("SSD {} serves here, but not {}; see the network between", ssd,
                  std::exchange(last, {})));
}

/// Ends the leases of hosts that are gone.
void array_manager::look_at_hosts(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const std::lock_guard in_turn(host_looks_);  // or an older answer would count after a newer one
  status s;
  const auto asked = std::chrono::steady_clock::now();
  std::optional<array_front_end::connected> there;
  try {
    there = front_end_->hosts();
  } catch (const io_error& e) {
    s = e.outcome();
  } catch (const error& e) {
    log(log_level::warning, e.what());
  }
  lock.lock();
  if (notices_end(s) || !there) return;
  std::vector<client_id> writers;
  for (const daemon::manager::lease& l : core_.leases()) writers.push_back(client_id(l.client));
  const auto answered = std::chrono::steady_clock::now();
  for (const client_id gone : host_watch_.note(*there, writers, asked, answered)) {
    say(fmt::format("client {} is gone: its leases end", gone.value));
    const bool others = std::any_of(there->hosts.begin(), there->hosts.end(), [=](const auto& h) {
      return client_identity::client_of(h.nqn) == gone;
    });
    core_.client_gone(gone.value, others);
  }
}

/// True if a status says that a target elsewhere is not reached any more.
bool array_manager::is_lost(status s) const {
  return settings_.remote && !s.ok() && s.code != status_code::nvme_error;
}

/// True if a status says that this manager's time is over, which it then is.
bool array_manager::notices_end(status s) {
  if (is_own(s, wire::afa::status::stale_term)) {
    deposed_ = ended_.empty() || deposed_;
    end_rule(fmt::format("another manager has taken the array over: term {} is past", term_));
  } else if (is_lost(s)) {
    end_rule("the connection with the array is lost: " + to_string(s));
  }
  return !ended_.empty();
}

/// Nothing of this manager counts any more: another one has a later term and knows better, or what
/// became of its last orders is not known.
void array_manager::end_rule(std::string why) {
  if (!ended_.empty()) return;
  ended_ = std::move(why);
  orders_.clear();
  front_ends_.clear();
  for (repair_worker* const worker : workers()) worker->halt();
  room_.halt();
  say(ended_);
  answered_.notify_all();
}

void array_manager::check() const {
  const std::lock_guard lock(guard_);
  if (deposed_) throw deposed_error(ended_);
  if (!ended_.empty()) throw error(ended_);
}

}  // namespace gnstor::host

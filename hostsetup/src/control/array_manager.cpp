#include "array_manager.hpp"

#include "own_status.hpp"
#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <daemon/order_bytes.hpp>
#include <gnstor/host/volume_text.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/volume_list.hpp>
#include <gnstor/wire/afa/volume_rules.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace gnstor::host {
namespace {

using wire::afa::admin_opcode;
using wire::afa::volume_record;

/// What a target may take beside what it waits for an SSD.
constexpr std::chrono::milliseconds answer_time{2000};
constexpr std::chrono::milliseconds no_time{0};
/// Where it did not run for so long, leases go on for longer: not where a machine is busy.
constexpr std::chrono::milliseconds least_standstill{500};
constexpr std::chrono::milliseconds usual_standstill{1000};

std::uint64_t bit(std::uint32_t ssd) { return std::uint64_t{1} << ssd; }

/// What an order is, for the log.
const char* name_of(admin_opcode op) {
  switch (op) {
    case admin_opcode::volume_add: return "VOLUME ADD";
    case admin_opcode::volume_chmod: return "VOLUME CHMOD";
    case admin_opcode::volume_delete: return "VOLUME DELETE";
    case admin_opcode::array_update: return "ARRAY UPDATE";
    case admin_opcode::volume_list: return "VOLUME LIST";
    case admin_opcode::array_describe: return "ARRAY DESCRIBE";
    case admin_opcode::ssd_describe: return "SSD DESCRIBE";
  }
  return "a command";
}

/// True if an SSD has answered, whatever it thinks of the order: it is not broken.
bool has_answered(status s) {
  return s.ok() ||
         (s.code == status_code::nvme_error &&
          s.nvme_type == static_cast<std::uint8_t>(wire::nvme::status_code_type::vendor_specific));
}

}  // namespace

array_manager::array_manager(std::unique_ptr<array_link> link,
                             std::unique_ptr<array_front_end> front_end, manager_settings settings)
    : link_(std::move(link)),
      front_end_(std::move(front_end)),
      settings_(std::move(settings)),
      journal_(settings_.journal ? settings_.journal : std::make_shared<manager_journal>()),
      client_(*link_, static_cast<std::uint64_t>(
                          std::chrono::nanoseconds(settings_.ssd_timeout +
                                                   (settings_.remote ? answer_time : no_time))
                              .count())),
      options_([this] {
        const wire::afa::array_description said = client_.describe();
        return daemon::manager_options{.ssds = said.ssd_count,
                                       .client = said.own_client,
                                       .lease_ns = static_cast<std::uint64_t>(
                                           std::chrono::nanoseconds(settings_.lease).count())};
      }()),
      core_(options_),
      looks_(options_.ssds),
      complaints_(options_.ssds),
      still_(std::clamp(settings_.lease / 4, least_standstill, usual_standstill),
             std::chrono::steady_clock::now()),
      scrubs_(settings_.scrub_every, std::chrono::steady_clock::now()),
      repairs_(client_, employer(), settings_.repair_bytes_per_s),
      converging_(client_, employer(), settings_.repair_bytes_per_s),
      forgetting_(client_, employer(), settings_.repair_bytes_per_s),
      following_(client_, employer(), settings_.repair_bytes_per_s),
      room_(client_, guard_, core_, settings_.room_every, settings_.room_parts) {
  take_over();
  take_up_plans();
  take_up_absences();
  take_up_scrubs();
  for (const auto& begin : {std::function<void()>([this] { still_.start(); }),
                            std::function<void()>([this] { room_.start(); })}) {
    try {
      begin();
    } catch (const error& e) {  // an array is managed without
      log(log_level::warning, e.what());
    }
  }
  thread_ = start_thread("manager", "managing an array", [this] { run(); });
  for (repair_worker* const worker : workers()) worker->start();
}

repair_worker::employer array_manager::employer() {
  return {.guard = guard_,
          .core = core_,
          .wake = [this] { work_.notify_all(); },
          .failed =
              [this](std::uint32_t ssd, status s) {
                if (!notices_end(s)) core_.ssd_failed(ssd);
              },
          .ended = [this](const daemon::repair& done) { note_repair(done); },
          .depth = [this] { return may_send_many() ? ~0u : 1u; }};
}

/// True unless a target elsewhere may answer late if it is sent many commands at once: those of
/// earlier versions have four threads for what a manager sends. It is of this one if its SSDs say
/// how their flash is used.
bool array_manager::may_send_many() const {
  return !settings_.remote || std::any_of(looks_.begin(), looks_.end(),
                                          [](const look& l) { return l.flash.erase_blocks != 0; });
}

array_manager::~array_manager() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
    work_.notify_all();
    answered_.notify_all();
  }
  room_.stop();
  for (repair_worker* const worker : workers()) worker->stop();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t array_manager::now() const {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// ---- what is asked of SSDs

status array_manager::send(const daemon::ssd_order& o) {
  std::vector<std::byte> payload = daemon::payload_of(o);
  return client_.admin(daemon::command_of(o, term_).pack(), payload);
}

// ---- what it does all the time

/// Takes time in which this process did not run for time in which nobody could ask it for anything.
void array_manager::count_time() {
  const auto today = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds missed = still_.missed(today);
  if (missed.count() != 0) {
    core_.stood_still(static_cast<std::uint64_t>(missed.count()));
    say(fmt::format("did not run for {} ms: leases go on for that much longer",
                    missed.count() / 1'000'000));
  }
  core_.tick(now());
}

void array_manager::run() {
  std::unique_lock lock(guard_);
  while (!stopping_ && ended_.empty()) {
    count_time();
    obey(core_.take_orders());
    if (!front_ends_.empty()) {  // before any SSD is informed of the epoch that follows
      change_front_end(lock);
      continue;
    }
    if (!orders_.empty()) {
      carry_out(lock);
      continue;
    }
    const auto today = std::chrono::steady_clock::now();
    if (begins_scrub(today)) continue;
    if (today >= look_next_) {
      look_at_ssds(lock);
      take_back(lock);
      use_spares(lock);
      look_next_ = today + settings_.look_every;
      continue;
    }
    if (looks_for_hosts(lock)) continue;  // between two looks at all
    work_.wait_until(lock, reported_ == 0 ? look_next_ : std::min(look_next_, today + retry_pause));
  }
}

/// Who does a repair: what nobody waits for holds up nothing that somebody does.
repair_worker& array_manager::worker_of(const daemon::repair_order& r) {
  using kind = daemon::repair_kind;
  const bool again = (r.kind == kind::spread || r.kind == kind::drain) && !r.kept.regions.empty();
  if (r.kind == kind::watch || again) return following_;
  return r.kind == kind::converge ? converging_ : r.kind == kind::forget ? forgetting_ : repairs_;
}

void array_manager::obey(daemon::orders&& out) {
  for (const std::uint32_t k : out.detached) front_ends_.push_back({k, true});
  for (const std::uint32_t k : out.attached) front_ends_.push_back({k, false});
  for (const std::uint32_t k : out.unfit) {
    unfit_ |= bit(k);
    if (core_.absences().planned(k) == nullptr) journal_->back(k);  // nothing of it counts any more
    returns_.failed(k, std::chrono::steady_clock::now());
    say(fmt::format("SSD {} cannot take its place again: it refuses orders, or has failed", k));
  }
  orders_.insert(orders_.end(), out.ssds.begin(), out.ssds.end());
  for (const std::uint64_t id : out.cancelled) {
    for (repair_worker* const worker : workers()) worker->cancel(id);
  }
  for (const daemon::repair_order& r : out.repairs) {
    if (!r.left_out.empty())
      say(fmt::format("SSD {} has {} volumes as it left them", r.ssd, r.left_out.size()));
    if (r.kind == daemon::repair_kind::fill && !r.kept.regions.empty()) {
      say(fmt::format("SSD {} has {} volumes but for what was changed since it left", r.ssd,
                      r.kept.regions.size()));
    }
    worker_of(r).add(r);
  }
  for (const daemon::reply& r : out.replies) {
    const auto at = requests_.find(r.request);
    if (at != requests_.end()) at->second = r;
  }
  answered_.notify_all();
  if (!core_.knows_epoch()) return;
  const daemon::membership& serving = core_.published();
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    const bool was_absent = (known_absent_ & bit(k)) != 0;
    const bool was_filling = (known_filling_ & bit(k)) != 0;
    const bool absent = (serving.absent & bit(k)) != 0;
    const bool filling = (serving.filling & bit(k)) != 0;
    if (absent && !was_absent) {
      say(why_absent(k));
      returns_.failed(k, std::chrono::steady_clock::now());
    }
    if (filling && !was_filling) say(fmt::format("SSD {} is being filled", k));
    if (!absent && was_absent) journal_->back(k);
    if (!absent && !filling && (was_absent || was_filling))
      say(fmt::format("SSD {} is in sync again in epoch {}", k, serving.epoch));
  }
  known_absent_ = serving.absent;
  known_filling_ = serving.filling;
  note_aims();
  for (repair_worker* const worker : workers()) worker->wake();
}

void array_manager::carry_out(std::unique_lock<std::mutex>& lock) {
  const daemon::ssd_order o = orders_.front();
  orders_.pop_front();
  lock.unlock();
  status s;
  std::string why;
  try {
    s = send(o);
  } catch (const error& e) {  // this process has no memory for it: that is not the SSD's fault
    why = e.what();
  }
  lock.lock();
  if (!why.empty()) {
    log(log_level::warning, why);
    orders_.push_front(o);
    work_.wait_for(lock, retry_pause);
    return;
  }
  if (notices_end(s)) return;
  if (has_answered(s)) {
    const bool is_gone =
        o.opcode == admin_opcode::volume_delete && is_own(s, wire::afa::status::unknown_volume);
    if (!s.ok() && !is_gone) {
      s.ssd = static_cast<std::uint16_t>(o.ssd);
      log(log_level::warning, fmt::format("ordering {} of volume {} in epoch {}: {}",
                                          name_of(o.opcode), o.vid, o.epoch, to_string(s)));
    }
    core_.answered(o.id,
                   s.ok() ? std::uint16_t{0} : wire::nvme::make_status(s.nvme_type, s.nvme_code));
    return;
  }
  log(log_level::warning,
      fmt::format("SSD {} does not carry out an order: {}", o.ssd, to_string(s)));
  std::erase_if(orders_, [&](const daemon::ssd_order& other) { return other.ssd == o.ssd; });
  core_.ssd_failed(o.ssd);
}

/// Has an SSD's front end refuse its I/O, or no longer: unless another manager has taken over,
/// which some SSD knows.
void array_manager::change_front_end(std::unique_lock<std::mutex>& lock) {
  const front_end_change change = front_ends_.front();
  front_ends_.pop_front();
  lock.unlock();
  const auto ends = [&](status s) {
    return is_own(s, wire::afa::status::stale_term) || is_lost(s);
  };
  status said;
  for (std::uint32_t k = 0; k < options_.ssds && !ends(said); ++k) {
    try {
      (void)client_.describe(k, term_);
    } catch (const io_error& e) {
      said = e.outcome();
    } catch (const error& e) {
      log(log_level::warning, e.what());
    }
  }
  bool changed = true;
  try {
    if (!ends(said)) front_end_->detach(change.ssd, change.detached, term_);
  } catch (const io_error& e) {
    said = e.outcome();
    changed = false;
  } catch (const error& e) {
    log(log_level::warning, e.what());
    changed = false;
  }
  lock.lock();
  if (notices_end(said) || changed) return;
  front_ends_.push_front(change);  // the epoch does not move before it has
  work_.wait_for(lock, retry_pause);
}

void array_manager::say(std::string words) {
  log(log_level::info, words);
  journal_->event(std::move(words));
}

}  // namespace gnstor::host

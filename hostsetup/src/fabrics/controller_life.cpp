/// What a controller's own thread does: signs of life, events, making a lost association again.

#include "controller.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/nvme/asynchronous_event.hpp>
#include <gnstor/wire/nvme/log_page.hpp>
#include <gnstor/wire/nvme/namespace_list.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host::fabrics {
namespace {

using std::chrono::milliseconds;
using wire::nvme::admin_opcode;

constexpr milliseconds heartbeat{10};     ///< between two looks at the association
constexpr milliseconds first_pause{100};  ///< between two tries to make it again, doubling
constexpr milliseconds end_pause{1000};   ///< between two tries to end those that were lost

}  // namespace

void controller::run() {
  std::unique_lock lock(mutex_);
  for (; !stop_;) {
    (void)changed_.wait_for(lock, heartbeat, [&] { return stop_; });
    const phase now = phase_;
    if (stop_ || now == phase::ended) continue;
    lock.unlock();
    if (now == phase::ready) {
      watch_once();
    } else if (clock::now() >= next_try_) {
      reconnect_once();
    }
    lock.lock();
  }
}

void controller::watch_once() {
  const std::shared_ptr<admin_queue> present = admin();
  bool queue_ended = false;
  {
    const std::lock_guard lock(mutex_);
    queue_ended = queue_lost_;
    for (const queue_link* link : links_) queue_ended = queue_ended || link->ended();
  }
  try {
    if (present->ended()) {
      lose("the target or the network ended it");
    } else if (queue_ended) {
      lose("the connection of an I/O queue ended");
    } else if (!watch_life(*present)) {
      lose(fmt::format("no sign of life from the target for {} ms", options_.keep_alive.count()));
    } else if (!watch_events(*present)) {
      lose("the target or the network ended it");
    } else {
      end_former_again(*present);
    }
  } catch (const std::exception& fault) {
    lose(fault.what());
  }
}

/// Sends a Keep Alive twice in the keep alive time. False if one was not answered in that time.
bool controller::watch_life(admin_queue& admin) {
  if (options_.keep_alive.count() == 0) return true;
  if (life_) {
    const gnstor::status outcome = admin.answer(life_.value, nullptr);
    if (outcome.code == status_code::would_block) {
      return clock::now() < life_sent_ + options_.keep_alive;
    }
    life_ = gnstor::status::make(status_code::not_ready, reporter::caller);
    // A refusal is a sign of life too.
    if (!outcome.ok() && outcome.code != status_code::nvme_error) return false;
  }
  if (clock::now() >= life_sent_ + options_.keep_alive / 2) {
    life_ = admin.submit(
        wire::nvme::make_command(static_cast<std::uint8_t>(admin_opcode::keep_alive), 0, 0));
    if (life_) life_sent_ = clock::now();
  }
  return true;
}

/// Keeps one Asynchronous Event Request at the target. False if the connection is lost.
bool controller::watch_events(admin_queue& admin) {
  if (events_refused_ || limits().discovery) return true;
  if (event_) {
    std::uint64_t value = 0;
    const gnstor::status outcome = admin.answer(event_.value, &value);
    if (outcome.code == status_code::would_block) return true;
    event_ = gnstor::status::make(status_code::not_ready, reporter::caller);
    events_refused_ = outcome.code == status_code::nvme_error;
    if (events_refused_) return true;
    if (!outcome.ok()) return false;
    const auto event = wire::nvme::asynchronous_event::from(static_cast<std::uint32_t>(value));
    if (event.type == wire::nvme::event_type_notice &&
        event.code == wire::nvme::notice_namespace_changed) {
      refresh_namespaces(admin);
    } else {
      say(fmt::format("the controller at {} reports an event of type {}, code {}", way_.peer(),
                      event.type, event.code));
    }
  }
  event_ = admin.submit(wire::nvme::make_command(
      static_cast<std::uint8_t>(admin_opcode::asynchronous_event_request), 0, 0));
  return true;
}

void controller::refresh_namespaces(admin_queue& admin) {
  // Reading the log page lets the target send the next event of this kind.
  wire::nvme::namespace_list which{};
  admin.log_page(wire::nvme::log_changed_namespaces, 0,
                 std::as_writable_bytes(std::span(&which, 1)));
  std::vector<namespace_info> all = list_namespaces(admin);
  {
    const std::lock_guard lock(mutex_);
    namespaces_ = std::move(all);
  }
  if (options_.namespaces_changed) options_.namespaces_changed();
}

void controller::lose(const std::string& why) {
  std::shared_ptr<admin_queue> former;
  {
    const std::lock_guard lock(mutex_);
    former = std::move(admin_);
    for (queue_link* link : links_) link->disconnect();
    links_.clear();
    loss_ = why;
    phase_ = options_.loss_timeout.count() == 0 ? phase::ended : phase::lost;
  }
  changed_.notify_all();
  if (number_ != 0) former_.push_back({former->controller_id(), number_});
  unknown_former_ = unknown_former_ || number_ == 0;
  former->disconnect();
  say(fmt::format("the connection to subsystem '{}' at {} was lost: {}", options_.subsystem,
                  way_.peer(), why));
  lost_at_ = next_try_ = clock::now();
  pause_ = first_pause;
}

/// Asks the target again to end the associations that were lost, where it could not at first: as
/// long as an SSD did not answer.
void controller::end_former_again(admin_queue& admin) {
  if (former_.empty() || unknown_former_ || clock::now() < next_end_) return;
  next_end_ = clock::now() + end_pause;
  if (!end_former(admin)) return;
  const std::lock_guard lock(mutex_);
  ended_until_ = association_ - 1;
}

/// Has the target end the associations that were lost. True if nothing of them is under way.
bool controller::end_former(admin_queue& admin) {
  for (; !former_.empty(); former_.pop_back()) {
    try {
      (void)admin.execute(former_.back().pack(), "ending the association that was lost");
    } catch (const io_error& fault) {
      if (admin.ended()) throw;
      say(fault.what());
      return false;
    }
  }
  return !unknown_former_;
}

void controller::reconnect_once() {
  try {
    found f = establish();
    const bool fresh = end_former(*f.admin);
    next_end_ = clock::now() + end_pause;
    adopt(std::move(f), fresh);
    say(fmt::format("connected to subsystem '{}' at {} again", options_.subsystem, way_.peer()));
    return;
  } catch (const std::exception& fault) {
    const std::lock_guard lock(mutex_);
    loss_ = fault.what();
  }
  next_try_ = clock::now() + pause_;
  pause_ = std::min(2 * pause_, std::max(options_.reconnect_delay, milliseconds(1)));
  if (next_try_ < lost_at_ + options_.loss_timeout) return;
  {
    const std::lock_guard lock(mutex_);
    phase_ = phase::ended;
  }
  changed_.notify_all();
  say(fmt::format("gave up connecting to subsystem '{}' at {} after {} ms", options_.subsystem,
                  way_.peer(), options_.loss_timeout.count()));
}

}  // namespace gnstor::host::fabrics

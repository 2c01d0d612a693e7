#include "leadership.hpp"

#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace gnstor::serve {
namespace {

using host::log;
using host::log_level;

constexpr std::chrono::milliseconds look_every{200};
/// Of a call to etcd: several of them fit into a lease.
constexpr std::chrono::milliseconds call_time{900};
/// How long others have, when this one cannot manage.
constexpr std::chrono::milliseconds stand_back_time{3000};

}  // namespace

leadership::leadership(settings s)
    : settings_(std::move(s)), etcd_(settings_.servers, settings_.tls, call_time) {
  thread_ = host::start_thread("etcd", "asking etcd who leads", [this] { run(); });
}

leadership::~leadership() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  give_back();
}

/// Ends the lease, and with it the key.
void leadership::give_back() noexcept {
  until_ = 0;
  if (lease_ == 0) return;
  try {
    etcd_.revoke(lease_);
  } catch (const std::exception& e) {
    log(log_level::warning, e.what());  // it ends by itself
  }
  lease_ = 0;
  owns_ = false;
}

void leadership::stand_back() {
  const std::lock_guard lock(guard_);
  until_ = 0;
  stands_back_ = true;
  next_try_ = clock::now() + stand_back_time;
  leader_.clear();
}

bool leadership::leads() const { return clock::now().time_since_epoch().count() < until_.load(); }

std::string leadership::leader() const {
  const std::lock_guard lock(guard_);
  return leader_;
}

void leadership::note_leader(std::string address) {
  const std::lock_guard lock(guard_);
  leader_ = std::move(address);
}

void leadership::run() {
  std::unique_lock lock(guard_);
  while (!stopping_) {
    const bool gives_back = std::exchange(stands_back_, false);
    const bool waits = clock::now() < next_try_;
    lock.unlock();
    if (gives_back) give_back();
    try {
      if (!waits) owns_ ? keep() : try_to_lead();
      if (std::exchange(silent_, false)) log(log_level::info, "etcd answers again");
    } catch (const std::exception& e) {
      if (!std::exchange(silent_, true)) log(log_level::warning, e.what());
      // A lease that may have ended by now is no lease.
      if (lease_ != 0 && clock::now() >= kept_ + settings_.lease) lose("etcd does not answer");
    }
    lock.lock();
    (void)wake_.wait_for(lock, look_every, [&] { return stopping_; });
  }
}

/// Takes the key where nobody has it.
void leadership::try_to_lead() {
  etcd_client::lease_id holder = 0;
  const std::optional<std::string> there = etcd_.get(settings_.key, holder);
  if (there && (lease_ == 0 || holder != lease_)) {
    note_leader(*there);
    return;
  }
  // From before it is asked for: it cannot end earlier than this daemon believes.
  const clock::time_point asked = clock::now();
  if (lease_ != 0 && !etcd_.keep_alive(lease_)) lease_ = 0;
  if (lease_ == 0) {
    lease_ = etcd_.grant(settings_.lease);
    if (there) return;  // the key was the former lease's: it goes
  }
  kept_ = asked;
  owns_ = there || etcd_.create(settings_.key, settings_.address, lease_);
  if (!owns_) return;
  note_leader(settings_.address);
  lead();
  log(log_level::info, fmt::format("leads: {} in etcd is this daemon's", settings_.key));
}

void leadership::keep() {
  const clock::time_point asked = clock::now();
  if (!etcd_.keep_alive(lease_)) {
    lease_ = 0;
    return lose("its lease has ended");
  }
  kept_ = asked;
  lead();
}

/// Leads as long as the lease must last, unless it was asked to stand back meanwhile.
void leadership::lead() {
  const std::lock_guard lock(guard_);
  if (!stands_back_) until_ = (kept_ + settings_.lease).time_since_epoch().count();
}

void leadership::lose(const char* why) {
  until_ = 0;
  note_leader({});
  if (std::exchange(owns_, false)) log(log_level::warning, fmt::format("leads no more: {}", why));
}

}  // namespace gnstor::serve

#include "lease_keeper.hpp"

#include <base/log.hpp>
#include <base/start_thread.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gnstor::host {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds ask_again{1};
constexpr std::chrono::milliseconds shortest_pause{10};

/// How long to wait before a lease is renewed.
steady_clock::duration pause_of(const volume_state& v) {
  const auto third =
      std::chrono::duration_cast<steady_clock::duration>(v.lease_left.value_or(ask_again) / 3);
  return std::max<steady_clock::duration>(third, shortest_pause);
}

}  // namespace

lease_keeper::~lease_keeper() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void lease_keeper::keep(const volume_state& opened) {
  std::unique_lock lock(guard_);
  if (!thread_.joinable()) thread_ = start_thread("leases", "renewing leases", [this] { run(); });
  // What is heard of the lease before must not end this one.
  changed_.wait(lock, [&] { return asking_ != opened.record.vid; });
  due_[opened.record.vid] = clock::now() + pause_of(opened);
  changed_.notify_all();
}

void lease_keeper::drop(volume_id vid) {
  std::unique_lock lock(guard_);
  due_.erase(vid.value);
  // Bounded: a manager answers, or its request times out.
  changed_.wait(lock, [&] { return asking_ != vid.value; });
}

bool lease_keeper::keeps(volume_id vid) const {
  const std::lock_guard lock(guard_);
  return due_.contains(vid.value);
}

std::vector<volume_id> lease_keeper::kept() const {
  const std::lock_guard lock(guard_);
  std::vector<volume_id> all;
  for (const auto& [vid, when] : due_) all.emplace_back(vid);
  return all;
}

/// Renews a lease: how long the next time is off; 0: it is lost.
lease_keeper::clock::duration lease_keeper::renewed(volume_id vid) {
  try {
    return pause_of(control_->renew(vid));
  } catch (const control_error& e) {
    const bool lost =
        e.why() == control_reason::lost_lease || e.why() == control_reason::unknown_volume;
    log(log_level::warning, fmt::format("{}{}", e.what(), lost ? "" : "; asking again"));
    return lost ? clock::duration::zero() : ask_again;
  } catch (const std::exception& e) {
    log(log_level::warning, e.what());
    return ask_again;
  }
}

void lease_keeper::run() {
  std::unique_lock lock(guard_);
  while (!stopping_) {
    const auto next = std::min_element(
        due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (next == due_.end()) {
      changed_.wait(lock);
      continue;
    }
    if (const clock::time_point when = next->second; when > clock::now()) {
      changed_.wait_until(lock, when);  // of its own: the entry may go meanwhile
      continue;
    }
    asking_ = next->first;
    lock.unlock();
    const clock::duration pause = renewed(volume_id(asking_));
    lock.lock();
    const auto still = due_.find(std::exchange(asking_, 0));
    if (still != due_.end() && pause == clock::duration::zero()) {
      due_.erase(still);
    } else if (still != due_.end()) {
      still->second = clock::now() + pause;
    }
    changed_.notify_all();
  }
}

}  // namespace gnstor::host

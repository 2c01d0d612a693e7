#include "epoch_watcher.hpp"

#include <base/log.hpp>
#include <base/start_thread.hpp>

#include <algorithm>
#include <utility>

namespace gnstor::host {
namespace {

/// How long a lane's question lies there at most, and no array is asked whose epoch nobody wants.
constexpr std::chrono::milliseconds between_looks{5};
/// Where no SSD has answered.
constexpr std::chrono::milliseconds after_nothing{100};
/// Where no SSD of this epoch says where a volume lies: there is another one, or about to be.
constexpr std::chrono::milliseconds after_no_place{10};

array_epoch epoch_of(const wire::afa::array_description& said, std::uint32_t ssd_count) {
  return {said.epoch, said.absent, said.filling, said.others(), ssd_count};
}

}  // namespace

epoch_watcher::epoch_watcher(std::span<epoch_board> boards, question ask, locator locate,
                             bool kernels)
    : boards_(boards), kernels_(kernels), ask_(std::move(ask)), locate_(std::move(locate)) {
  thread_ = start_thread("epochs", "following the array's epochs", [this] { run(); });
}

epoch_watcher::~epoch_watcher() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

epoch_board* epoch_watcher::follow(const volume_info& v) {
  if (v.plain() || !locate_) return nullptr;
  const std::lock_guard lock(guard_);
  const auto [at, fresh] = places_.try_emplace({v.vid.value, v.hash_factor});
  place& where = at->second;
  if (!fresh && !where.gone) return where.board;
  where = {v, nullptr, 0, v.ssd_count};
  if (!free_.empty()) {
    where.board = free_.back();
    free_.pop_back();
  } else if (used_ < boards_.size()) {
    where.board = &boards_[used_++];
  }
  // What it was opened with may be older than the epoch that it was opened in.
  if (is_behind(where)) changed_.notify_all();
  return where.board;
}

void epoch_watcher::write(const wire::afa::array_description& said) {
  const std::lock_guard lock(guard_);
  if (said.epoch <= written_) return;
  said_ = said;
  written_ = said.epoch;
  boards_.front().write(epoch_of(said, 0));
  if (any_behind()) changed_.notify_all();
}

void epoch_watcher::wish() {
  boards_.front().wish();
  // Under the lock: not between the thread's look and its sleep.
  const std::lock_guard lock(guard_);
  changed_.notify_all();
}

volume_info epoch_watcher::present(volume_info v) const {
  if (written_ < v.epoch || (written_ == v.epoch && !moved_)) return v;
  const std::lock_guard lock(guard_);
  const auto at = places_.find({v.vid.value, v.hash_factor});
  if (at != places_.end() && is_behind(at->second)) return v;  // soon
  v.epoch = said_.epoch;
  if (at != places_.end() && at->second.ssd_count != 0) v.ssd_count = at->second.ssd_count;
  v.set_membership(said_.absent, said_.filling, said_.others());
  return v;
}

bool epoch_watcher::any_behind() const {
  return std::any_of(places_.begin(), places_.end(),
                     [this](const auto& entry) { return is_behind(entry.second); });
}

bool epoch_watcher::take_wishes() const {
  bool any = false;
  for (std::size_t k = 0; k < used_; ++k) any = boards_[k].take_wish() || any;
  return any;
}

/// Notes where a volume lies in an epoch. @param ssds 0: there is no such volume
void epoch_watcher::found(place& where, const wire::afa::array_description& in,
                          std::uint32_t ssds) {
  where.gone = ssds == 0;
  where.epoch = in.epoch;
  if (where.gone) {  // who still goes by its board is refused, whatever it says
    if (where.board != nullptr) free_.push_back(std::exchange(where.board, nullptr));
    return;
  }
  where.ssd_count = ssds;
  if (ssds != where.volume.ssd_count) moved_ = true;
  if (where.board != nullptr) where.board->write(epoch_of(in, ssds));
}

/// Finds out where volumes lie in the latest epoch. False: nobody says of one.
bool epoch_watcher::locate(std::unique_lock<std::mutex>& lock) {
  bool all = true;
  // No entry is ever taken away.
  for (auto at = places_.begin(); at != places_.end() && !stopping_; ++at) {
    if (!is_behind(at->second)) continue;
    const volume_info v = at->second.volume;
    const wire::afa::array_description epoch = said_;
    lock.unlock();
    std::vector<located> said;
    try {
      said = locate_(v, epoch);
    } catch (const std::exception& e) {
      log(log_level::warning, e.what());
    }
    lock.lock();
    if (epoch.epoch != written_) said.clear();  // it may have moved again
    for (const located& l : said) {
      const auto which = places_.find({l.vid.value, l.hash_factor});
      if (which != places_.end() && is_behind(which->second))
        found(which->second, epoch, l.ssd_count);
    }
    all = all && !is_behind(at->second);
  }
  return all;
}

void epoch_watcher::run() {
  std::unique_lock lock(guard_);
  while (!stopping_) {
    if (any_behind()) {
      if (!locate(lock) && !stopping_) {
        changed_.wait_for(lock, after_no_place, [this] { return stopping_; });
        boards_.front().wish();  // there may be another epoch
      }
      if (stopping_) break;  // said while the lock was free
    }
    if (!take_wishes()) {
      if (kernels_) {
        changed_.wait_for(lock, between_looks);
      } else if (!any_behind()) {
        changed_.wait(lock);
      }
      continue;
    }
    lock.unlock();
    bool heard = false;
    try {
      const auto said = ask_();
      heard = said.has_value();
      if (heard) write(*said);
    } catch (const std::exception& e) {
      log(log_level::warning, e.what());
    }
    lock.lock();
    // The lane asks again.
    if (!heard) changed_.wait_for(lock, after_nothing, [this] { return stopping_; });
  }
}

}  // namespace gnstor::host

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
  if (v.plain() || !locate_) return boards_.data();
  const std::lock_guard lock(guard_);
  const auto [at, fresh] = places_.try_emplace({v.vid.value, v.hash_factor});
  place& where = at->second;
  if (!fresh) return where.board;
  where = {v, boards_.data(), v.epoch, v.ssd_count};
  if (used_ < boards_.size()) where.board = &boards_[used_++];
  if (written_ <= v.epoch) {
    if (written_ == v.epoch) show(where);
  } else {
    changed_.notify_all();  // it may lie elsewhere by now
  }
  return where.board;
}

void epoch_watcher::write(const wire::afa::array_description& said) {
  const std::lock_guard lock(guard_);
  if (said.epoch <= written_) return;
  said_ = said;
  written_ = said.epoch;
  boards_.front().write(epoch_of(said, 0));
  if (behind() != nullptr) changed_.notify_all();
}

void epoch_watcher::wish() {
  boards_.front().wish();
  // Under the lock: not between the thread's look and its sleep.
  const std::lock_guard lock(guard_);
  changed_.notify_all();
}

volume_info epoch_watcher::present(volume_info v) const {
  if (written_ <= v.epoch) return v;
  const std::lock_guard lock(guard_);
  const auto at = places_.find({v.vid.value, v.hash_factor});
  if (at != places_.end() && at->second.epoch < written_) return v;  // soon
  v.epoch = said_.epoch;
  if (at != places_.end() && at->second.ssd_count != 0) v.ssd_count = at->second.ssd_count;
  v.set_membership(said_.absent, said_.filling, said_.others());
  return v;
}

/// A volume of which it is not known where it lies in the latest epoch; null: of all it is.
epoch_watcher::place* epoch_watcher::behind() {
  const auto at = std::find_if(places_.begin(), places_.end(),
                               [this](const auto& entry) { return entry.second.epoch < written_; });
  return at == places_.end() ? nullptr : &at->second;
}

/// Writes a volume's board.
void epoch_watcher::show(const place& where) const {
  if (where.board != boards_.data()) where.board->write(epoch_of(said_, where.ssd_count));
}

bool epoch_watcher::take_wishes() const {
  bool any = false;
  for (std::size_t k = 0; k < used_; ++k) any = boards_[k].take_wish() || any;
  return any;
}

/// Finds out where volumes lie in the latest epoch. False: nobody says of one.
bool epoch_watcher::locate(std::unique_lock<std::mutex>& lock) {
  while (place* const where = behind()) {
    const volume_info v = where->volume;
    const wire::afa::array_description epoch = said_;
    lock.unlock();
    std::optional<std::uint32_t> ssds;
    try {
      ssds = locate_(v, epoch);
    } catch (const std::exception& e) {
      log(log_level::warning, e.what());
    }
    lock.lock();
    if (stopping_ || !ssds) return false;
    if (epoch.epoch != written_) continue;  // it may have moved again
    // No entry is ever taken away.
    where->epoch = epoch.epoch;
    if (*ssds != 0) where->ssd_count = *ssds;
    show(*where);
  }
  return true;
}

void epoch_watcher::run() {
  std::unique_lock lock(guard_);
  while (!stopping_) {
    if (behind() != nullptr && !locate(lock)) {
      changed_.wait_for(lock, after_no_place, [this] { return stopping_; });
      boards_.front().wish();  // there may be another epoch
      if (stopping_) break;
    }
    if (!take_wishes()) {
      if (kernels_) {
        changed_.wait_for(lock, between_looks);
      } else if (behind() == nullptr) {
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

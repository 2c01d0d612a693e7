#include "epoch_watcher.hpp"

#include <base/log.hpp>
#include <base/start_thread.hpp>

#include <utility>

namespace gnstor::host {
namespace {

/// How long a lane's question lies there at most, and no array is asked whose epoch nobody wants.
constexpr std::chrono::milliseconds between_looks{5};
/// Where no SSD has answered.
constexpr std::chrono::milliseconds after_nothing{100};

}  // namespace

epoch_watcher::epoch_watcher(epoch_board& board, question ask, bool kernels)
    : board_(&board), kernels_(kernels), ask_(std::move(ask)) {
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

void epoch_watcher::write(const wire::afa::array_description& said) {
  const std::lock_guard lock(guard_);
  if (said.epoch <= written_) return;
  board_->write({said.epoch, said.absent, said.filling, said.others()});
  written_ = said.epoch;
}

void epoch_watcher::wish() {
  board_->wish();
  // Under the lock: not between the thread's look and its sleep.
  const std::lock_guard lock(guard_);
  changed_.notify_all();
}

volume_info epoch_watcher::present(volume_info v) const {
  array_epoch now;
  if (board_->read(now) && now.number > v.epoch) {
    v.epoch = now.number;
    v.set_membership(now.absent, now.filling, now.others);
  }
  return v;
}

void epoch_watcher::run() {
  std::unique_lock lock(guard_);
  while (!stopping_) {
    const bool wished = board_->take_wish();
    if (!wished) {
      if (kernels_) {
        changed_.wait_for(lock, between_looks);
      } else {
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

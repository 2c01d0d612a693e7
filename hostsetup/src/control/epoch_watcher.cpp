#include "epoch_watcher.hpp"

#include <base/log.hpp>
#include <base/start_thread.hpp>

#include <utility>

namespace gnstor::host {
namespace {

/// How long a lane's question lies there at most, and no array is asked whose epoch nobody wants.
constexpr std::chrono::milliseconds between_looks{5};

}  // namespace

epoch_watcher::epoch_watcher(epoch_board& board, question ask)
    : board_(&board), ask_(std::move(ask)) {
  thread_ = start_thread("following the array's epochs", [this] { run(); });
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
  board_->write({said.epoch, said.absent, said.filling});
  written_ = said.epoch;
}

void epoch_watcher::run() {
  std::unique_lock lock(guard_);
  while (!stopping_) {
    changed_.wait_for(lock, between_looks);
    if (stopping_ || !board_->take_wish()) continue;
    lock.unlock();
    try {
      if (const auto said = ask_()) write(*said);
    } catch (const std::exception& e) {  // the lane asks again
      log(log_level::warning, e.what());
    }
    lock.lock();
  }
}

}  // namespace gnstor::host

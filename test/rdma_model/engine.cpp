#include "engine.hpp"

#include "network.hpp"

#include <pthread.h>
#include <sys/epoll.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace gnstor::test::rdma_model {
namespace {

constexpr std::chrono::milliseconds tick_every{100};
constexpr std::chrono::milliseconds look_for_cuts_every{5};

}  // namespace

engine& engine::get() {
  static auto* const one = new engine;  // outlives all that uses it
  return *one;
}

engine::engine() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  // Signals are the program's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] { run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void engine::watch(int fd, std::shared_ptr<watched> owner) {
  const std::lock_guard lock(guard_);
  owners_[fd] = std::move(owner);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = fd;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &wanted);
}

void engine::want_to_write(int fd, bool wanted) {
  epoll_event all{};
  all.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;
  all.data.fd = fd;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &all);
}

void engine::ignore(int fd) { epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

void engine::forget(int fd) {
  std::shared_ptr<watched> last;  // ends without the lock
  const std::lock_guard lock(guard_);
  if (const auto found = owners_.find(fd); found != owners_.end()) {
    last = std::move(found->second);
    owners_.erase(found);
    epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  }
}

void engine::bury(std::unique_ptr<link> closed) {
  if (closed == nullptr) return;
  if (!cut_off()) {
    closed->flush();
    return;
  }
  const std::lock_guard lock(guard_);
  buried_.push_back(std::move(closed));
}

std::shared_ptr<watched> engine::owner_of(int fd) {
  const std::lock_guard lock(guard_);
  const auto found = owners_.find(fd);
  return found == owners_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<watched>> engine::owners() {
  const std::lock_guard lock(guard_);
  std::vector<std::shared_ptr<watched>> all;
  for (const auto& entry : owners_) all.push_back(entry.second);
  return all;
}

void engine::run() {
  using clock = std::chrono::steady_clock;
  pthread_setname_np(pthread_self(), "rdma model");
  const auto nap = can_be_cut() ? look_for_cuts_every : tick_every;
  clock::time_point next_tick = clock::now();
  bool cut = false;
  for (;;) {
    epoll_event found[16];
    const int n = epoll_wait(epoll_, found, 16, static_cast<int>(nap.count()));
    if (cut_off()) {
      cut = true;
      std::this_thread::sleep_for(look_for_cuts_every);
      continue;
    }
    for (int k = 0; k < n; ++k) {
      if (const auto owner = owner_of(found[k].data.fd)) owner->ready();
    }
    if (!cut && clock::now() < next_tick) continue;
    next_tick = clock::now() + tick_every;
    if (std::exchange(cut, false)) {
      const std::lock_guard lock(guard_);
      for (const auto& one : buried_) one->flush();
      buried_.clear();
    }
    for (const auto& owner : owners()) owner->tick();
  }
}

}  // namespace gnstor::test::rdma_model

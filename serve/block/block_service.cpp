#include "block_service.hpp"

#include "quiet_rounds.hpp"
#include <base/start_thread.hpp>
#include <gnstor/host/error.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace gnstor::serve {
namespace {

/// How long it sleeps at most while there are requests: they may time out, or another epoch or
/// connection may be there for those that wait.
constexpr int look_ms = 2;

}  // namespace

block_service::block_service(host::array_link& link, host::epoch_watcher* epochs,
                             const block_settings& settings)
    : event_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)},
      engine_(link, 0, epochs, settings, block_engine::shares_of(link)) {
  if (event_ < 0) {
    throw host::error(std::string("reading and writing volumes: ") + std::strerror(errno) +
                      "; allow more open files (ulimit -n)");
  }
  wakes_ = engine_.wakes(event_);
  thread_ = host::start_thread("block engine", "reading and writing volumes", [this] { serve(); });
}

block_service::~block_service() {
  stopping_ = true;
  wake();
  thread_.join();
}

block_service::event_descriptor::~event_descriptor() {
  if (fd >= 0) ::close(fd);
}

void block_service::wake() {
  constexpr std::uint64_t one = 1;
  (void)!::write(event_, &one, sizeof one);
}

void block_service::submit(block_request& r) {
  bool first = false;
  {
    const std::lock_guard lock(guard_);
    first = incoming_.empty();
    incoming_.push_back(&r);
    has_incoming_.store(true);
  }
  if (first && sleeping_.load()) wake();
}

void block_service::serve() {
  quiet_rounds quiet;
  for (; !stopping_;) {
    const bool moved = round();
    const bool busy = !engine_.is_idle() && !engine_.only_waits();
    if (moved || (busy && !(wakes_ && quiet.is_long()))) {
      if (busy) quiet.after(moved);
    } else {
      sleep();
    }
  }
  (void)take_incoming();
  engine_.give_up();
  for (; !engine_.is_idle(); engine_.give_up()) quiet.after(engine_.progress());
}

/// Does what can be done now; false if there was nothing.
bool block_service::round() {
  bool moved = take_incoming();
  if (!engine_.is_idle()) moved = engine_.progress() || moved;
  return moved;
}

void block_service::sleep() {
  sleeping_.store(true);
  engine_.arm();
  // What came before either is seen now.
  if (!round() && !stopping_) {
    pollfd readable{event_, POLLIN, 0};
    (void)::poll(&readable, 1, engine_.is_idle() ? -1 : look_ms);
    std::uint64_t count = 0;
    (void)!::read(event_, &count, sizeof count);
  }
  sleeping_.store(false);
}

bool block_service::take_incoming() {
  if (!has_incoming_.load()) return false;
  std::vector<block_request*> all;
  {
    const std::lock_guard lock(guard_);
    all.swap(incoming_);
    has_incoming_.store(false);
  }
  for (block_request* r : all) engine_.submit(*r);
  return !all.empty();
}

}  // namespace gnstor::serve

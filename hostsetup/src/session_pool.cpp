#include "session_impl.hpp"
#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/host/session_pool.hpp>

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace gnstor::host {
namespace {

using namespace std::chrono_literals;

constexpr auto look_every = 1ms;      ///< for kernels that found no room
constexpr auto retry_after = 1000ms;  ///< where the memory was refused

pool_options options_for(const session& s, const session_pool_options& o) {
  return {.initial_bytes = o.initial_bytes,
          .max_bytes = o.max_bytes,
          .kernels = s.client_place(),
          .device = s.options().device};
}

}  // namespace

/// Members in the order in which they are needed: the thread ends first, the memory last.
struct session_pool::impl {
  impl(session& s, const session_pool_options& o)
      : link_(&session_access::link(s)),
        max_bytes_(o.max_bytes),
        at_once_(s.client_place() == place::device),
        grown_(options_for(s, o), [this](std::uint64_t bytes) { return supply(bytes); }),
        thread_(start_thread("growing pool", "a pool that grows", [this] { serve(); })) {}

  ~impl() {
    {
      const std::lock_guard held(guard_);
      stopping_ = true;
    }
    stop_.notify_one();
    thread_.join();
  }

  pool_expander<>::supplied supply(std::uint64_t bytes) {
    if (memory_.empty() || !at_once_)
      memory_.push_back(registered_memory(*link_, at_once_ ? max_bytes_ : bytes));
    if (!at_once_) given_ = 0;
    const io_buffer part = memory_.back().buffer().slice(given_, bytes);
    given_ += bytes;
    return {part.address, part.lkey, part.rkey};
  }

  void serve() {
    std::unique_lock held(guard_);
    for (; !stopping_;) {
      auto wait = std::chrono::milliseconds(look_every);
      try {
        if (grown_.serve()) bytes_.store(grown_.bytes());
      } catch (const std::exception& e) {
        log(log_level::warning,
            fmt::format("a pool of {} bytes cannot grow: {}", grown_.bytes(), e.what()));
        wait = retry_after;
      }
      stop_.wait_for(held, wait, [this] { return stopping_; });
    }
  }

  array_link* link_;  ///< of the session, where it stays also when that is moved
  std::uint64_t max_bytes_;
  bool at_once_;
  std::vector<registered_memory> memory_;
  std::uint64_t given_ = 0;  ///< bytes of the last memory that are in the pool
  pool_expander<> grown_;
  std::atomic<std::uint64_t> bytes_{grown_.bytes()};
  std::mutex guard_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

session_pool session::pool() { return {*this, {}}; }
session_pool session::pool(const session_pool_options& options) { return {*this, options}; }

session_pool::session_pool(session& s, const session_pool_options& options)
    : impl_(std::make_unique<impl>(s, options)) {}
session_pool::session_pool(session_pool&&) noexcept = default;
session_pool& session_pool::operator=(session_pool&&) noexcept = default;
session_pool::~session_pool() = default;

expandable_pool<> session_pool::ref() const { return impl_->grown_.ref(); }
std::uint64_t session_pool::bytes() const { return impl_->bytes_.load(); }
std::uint64_t session_pool::max_bytes() const { return impl_->max_bytes_; }

}  // namespace gnstor::host

#pragma once

#include <gnstor/host/error.hpp>
#include <gnstor/host/file_descriptor.hpp>

#include <poll.h>
#include <sys/eventfd.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

namespace gnstor::host::pcie {

/// A thread that waits until the kernel wants a device back, and calls what gives it up, once.
class removal_watcher {
 public:
  removal_watcher() : wanted_(::eventfd(0, EFD_CLOEXEC)), over_(::eventfd(0, EFD_CLOEXEC)) {
    if (!wanted_.is_open() || !over_.is_open())
      throw error("no file descriptors are left for an NVMe controller: raise ulimit -n");
  }
  removal_watcher(const removal_watcher&) = delete;
  removal_watcher& operator=(const removal_watcher&) = delete;
  ~removal_watcher() {
    constexpr std::uint64_t one = 1;
    if (thread_.joinable() && ::write(over_.get(), &one, sizeof one) == sizeof one) thread_.join();
  }

  /// The event that the kernel writes.
  int event() const { return wanted_.get(); }
  /// @param give_up called by the thread; what it uses outlives this object
  void start(std::function<void()> give_up) {
    thread_ = std::thread([this, act = std::move(give_up)] {
      pollfd events[] = {{wanted_.get(), POLLIN, 0}, {over_.get(), POLLIN, 0}};
      while (::poll(events, 2, -1) < 0) {
      }
      if (events[1].revents == 0) act();
    });
  }

 private:
  file_descriptor wanted_;
  file_descriptor over_;
  std::thread thread_;
};

}  // namespace gnstor::host::pcie

#pragma once

#include <gnstor/host/error.hpp>

#include <pthread.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace gnstor::host {

/// A thread that runs `work`. Throws `error` with the remedy where the system has none left.
/// @param name of the thread, as `top -H` and debuggers show it: 15 characters at most
/// @param what it does, for the message: "serving an array"
template <class Work>
std::thread start_thread(const char* name, const char* what, Work work) {
  try {
    std::thread started(std::move(work));
    pthread_setname_np(started.native_handle(), name);
    return started;
  } catch (const std::system_error& e) {
    throw error(std::string("starting a thread for ") + what + ": " + e.what() +
                "; allow more threads (ulimit -u, or the container's limit of pids)");
  }
}

}  // namespace gnstor::host

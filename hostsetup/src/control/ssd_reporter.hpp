#pragma once

#include "array_control.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace gnstor::host {

/// Says to an array's manager which SSDs do not serve this host, from a thread of its own: nobody
/// waits for it. One SSD is reported once a second at most. What a manager that is away does not
/// hear is dropped: it looks at every SSD when it takes over.
/// @par Callers of `note` any threads
class ssd_reporter {
 public:
  /// @param control outlives this
  explicit ssd_reporter(array_control& control) : control_(&control) {}
  /// Waits for a report that is under way.
  ~ssd_reporter();
  ssd_reporter(const ssd_reporter&) = delete;
  ssd_reporter& operator=(const ssd_reporter&) = delete;

  /// Reports an SSD, where `why` says that it does not serve: who may not do something, or knows
  /// another epoch, has no complaint.
  void note(std::uint32_t ssd, status why) noexcept;
  /// Says that some SSD does not serve, and nobody knows which.
  void note_some(const char* words) noexcept;

 private:
  using clock = std::chrono::steady_clock;
  void add(std::optional<std::uint32_t> ssd, std::string words) noexcept;
  void run();

  array_control* control_;
  std::mutex guard_;  ///< of what follows
  std::condition_variable changed_;
  std::map<std::optional<std::uint32_t>, std::string> waiting_;     ///< by SSD
  std::map<std::optional<std::uint32_t>, clock::time_point> said_;  ///< when it was reported last
  bool stopping_ = false;
  bool failed_ = false;  ///< of `run`: that the last one was not heard was said
  std::thread thread_;
};

}  // namespace gnstor::host

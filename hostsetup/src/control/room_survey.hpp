#pragma once

#include "array_client.hpp"
#include "array_state.hpp"
#include <daemon/manager.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

namespace gnstor::host {

/// Finds out how much of each volume holds data, from a thread of its own: one volume after another
/// it asks the SSDs which blocks they have (Get LBA Status). Of one that has too many parts of 4
/// MiB it looks at some. It asks a tenth of the time at most. A pass begins each `every`, the first
/// one sooner.
/// @par Callers as said at each; the lock is the manager's
class room_survey {
 public:
  using clock = std::chrono::steady_clock;

  /// @param client, core outlive this @param guard of `core`, and of what is found
  /// @param most_parts of a volume that are looked at
  room_survey(array_client& client, std::mutex& guard, const daemon::manager& core,
              clock::duration every, std::uint32_t most_parts)
      : client_(&client), guard_(guard), core_(core), every_(every), most_parts_(most_parts) {}
  ~room_survey();
  room_survey(const room_survey&) = delete;
  room_survey& operator=(const room_survey&) = delete;

  /// Throws `error` if no thread can be started.
  void start();
  /// Asks nobody any more. With the lock.
  void halt();
  /// The same, and waits for what is under way. Without the lock.
  void stop();
  /// What was found of a volume when it could be looked at last. With the lock.
  std::optional<used_room> of(const wire::afa::volume_record& r) const;

 private:
  struct finding {
    std::uint64_t hash_factor = 0;
    used_room room;
  };
  void run();
  void pass(std::unique_lock<std::mutex>& lock);
  std::optional<used_room> look(const volume_info& v, std::unique_lock<std::mutex>& lock);
  std::optional<std::uint32_t> count(const volume_info& v, std::uint64_t first,
                                     std::uint32_t blocks, std::unique_lock<std::mutex>& lock);
  volume_info described(const wire::afa::volume_record& r) const;

  array_client* client_;
  std::mutex& guard_;
  const daemon::manager& core_;
  clock::duration every_;
  std::uint64_t most_parts_;
  // With the lock:
  std::map<std::uint16_t, finding> found_;  ///< by VID
  bool stopping_ = false;
  std::condition_variable changed_;
  std::minstd_rand draw_;  ///< the thread's
  std::thread thread_;
};

}  // namespace gnstor::host

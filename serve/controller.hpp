#pragma once

#include "array_gateway.hpp"
#include "host_identity.hpp"
#include "plan.hpp"
#include "subsystem.hpp"
#include "target_limits.hpp"
#include <gnstor/wire/nvme/completion_entry.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace gnstor::serve {

/// What happened that a host may want to know.
enum class target_event : std::uint8_t {
  namespace_changed,  ///< read-only or not; log page 04h
  discovery_changed,  ///< the list of subsystems; log page 70h
};

/// What one controller was asked to do, for its SMART log.
struct traffic_counters {
  std::atomic<std::uint64_t> read_blocks{0};
  std::atomic<std::uint64_t> written_blocks{0};
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> writes{0};
};

/// What an association has of the array behind its subsystem.
struct array_side {
  bool cached = false;                              ///< the array has a volatile write cache
  std::shared_ptr<array_gateway::membership> held;  ///< of hosts of the array's own subsystem
  std::uint64_t association = 0;                    ///< its number for life; 0: it has none
  std::shared_ptr<array_gateway::manager_session> manager;  ///< null: it is a host like others
};

/// One association's controller: registers, features, event requests and keep-alive.
///
/// Any thread may call any member. Time is given by the caller, so that the controller replays.
class controller {
 public:
  controller(std::uint16_t id, std::shared_ptr<const subsystem> of, host_identity host,
             const target_limits& limits, array_side array = {});
  ~controller();
  controller(const controller&) = delete;
  controller& operator=(const controller&) = delete;

  std::uint16_t id() const { return id_; }
  const subsystem& of() const { return *of_; }
  std::shared_ptr<const subsystem> shared_subsystem() const { return of_; }
  const host_identity& host() const { return host_; }
  /// The association's number for life, which no other one ever has; 0: it has none.
  std::uint64_t association() const { return array_.association; }
  const target_limits& limits() const { return limits_; }

  traffic_counters& traffic() { return traffic_; }

  /// Attaches the volume, for a volume subsystem; the destructor detaches it. Not 0: refused.
  std::uint16_t open();

  /// True if what was acknowledged may need a Flush to last.
  bool has_write_cache() const { return array_.cached; }
  /// True if each write is to last before it is answered: the host has switched the cache off.
  bool writes_through() const {
    return array_.cached && !cache_on_.load(std::memory_order_relaxed);
  }

  /// True while commands other than Fabrics ones are executed: enabled and ready.
  bool ready() const { return ready_.load(std::memory_order_acquire); }
  answer property_get(std::uint32_t offset, bool wide) const;
  answer property_set(std::uint32_t offset, bool wide, std::uint64_t value);

  answer get_features(const wire::nvme::submission_entry& e, std::span<std::byte> data) const;
  answer set_features(const wire::nvme::submission_entry& e);
  /// Bytes of data that a Get Features answers.
  static std::uint32_t feature_bytes(const wire::nvme::submission_entry& e);

  /// Takes queue `qid` for a connection. False: it is beyond what was granted, or taken, or the
  /// association has ended.
  bool claim_queue(std::uint16_t qid);
  /// The connection is gone, and executes nothing any more.
  void release_queue(std::uint16_t qid);
  /// Waits until no connection is left. False if that takes longer.
  bool await_release(std::chrono::milliseconds most) const;
  /// True if an SSD may still execute what the host sent, by whichever association: it did not
  /// answer in time.
  bool left_behind() const { return array_.held != nullptr && array_.held->left_behind(); }

  /// What it may do as a manager that runs elsewhere; null: it is a host like others.
  array_gateway::manager_session* manager() const { return array_.manager.get(); }

  /// OAES: the events, beside those of health, that this controller may report.
  std::uint32_t optional_events() const;
  /// Keeps an event request until there is an event. False: there are as many as may be.
  bool hold_event(std::uint16_t command_id);
  void raise(target_event event);
  /// The log page of `event` was read: the next such event is reported again.
  void log_read(target_event event);
  /// Whether the namespace has changed since this was asked the last time.
  bool take_changed();
  /// The answer to a held request, if there is something to report.
  std::optional<wire::nvme::completion_entry> take_event();

  void keep_alive(std::uint32_t timeout_ms, std::uint64_t now_ms);
  void touch(std::uint64_t now_ms) { heard_ms_.store(now_ms, std::memory_order_relaxed); }
  bool expired(std::uint64_t now_ms) const;
  /// True if nothing would tell that the host has vanished.
  bool mute() const { return keep_alive_ms_.load(std::memory_order_relaxed) == 0; }
  /// Ends the association: each of its connections is to be closed by its owner.
  void end(const char* why);
  bool ended() const { return why_.load(std::memory_order_acquire) != nullptr; }
  const char* why_ended() const { return why_.load(std::memory_order_acquire); }

 private:
  std::uint64_t capabilities() const;
  void configure(std::uint32_t value);

  const std::uint16_t id_;
  const std::shared_ptr<const subsystem> of_;
  const host_identity host_;
  const target_limits limits_;
  const array_side array_;
  std::atomic<bool> cache_on_{true};
  traffic_counters traffic_;
  bool attached_ = false;
  std::atomic<bool> ready_{false};
  std::atomic<std::uint64_t> heard_ms_{0};
  std::atomic<std::uint32_t> keep_alive_ms_{0};
  std::atomic<const char*> why_{nullptr};

  mutable std::mutex guard_;  ///< of what follows
  std::uint32_t cc_ = 0;
  std::uint32_t csts_ = 0;
  std::uint32_t event_config_ = 0;
  std::uint32_t temperature_ = 0;
  std::uint32_t granted_ = 0;                 ///< I/O queues
  std::vector<bool> queues_;                  ///< taken, by queue id
  mutable std::condition_variable released_;  ///< one of them was given back
  std::deque<std::uint16_t> held_;
  bool changed_ = false;        ///< the namespace, since the log page was read
  std::uint32_t pending_ = 0;   ///< events not reported yet, by bit
  std::uint32_t silenced_ = 0;  ///< reported, and their log page not read since
};

}  // namespace gnstor::serve

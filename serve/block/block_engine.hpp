#pragma once

#include "block_request.hpp"
#include "channel_listener.hpp"
#include "phase_counts.hpp"
#include <gnstor/core/duration.hpp>
#include <gnstor/io/io_event.hpp>
#include <gnstor/volume/remote_volume.hpp>
#include <link/array_link.hpp>
#include <serve/request_engine.hpp>

#include <control/epoch_watcher.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gnstor::serve {

/// How a block engine treats its requests.
struct block_settings {
  /// From `submit` to `done` at most, as long as the array's node runs.
  duration patience = std::chrono::seconds(10);
  /// Of one attempt of those that may be sent again: an SSD that falls silent is not waited for as
  /// long as there is time where there is an epoch without it by then. 0: all of it.
  duration attempt = duration::of_ns(0);
  /// The array has a manager: a request that fails with an SSD waits for the next epoch, and is
  /// carried out again there. Otherwise only one that a later epoch has overtaken is.
  bool managed = false;
  /// The link makes a lost connection again: what it cost is sent once more then.
  bool reconnects = false;
  /// Where the phases `queued`, `waiting` and `flash` are counted, and what has ended; or null. It
  /// outlives the engine.
  phase_counts* phases = nullptr;
  /// Of changes by all engines that write the same volumes; null: this one is alone with them.
  std::shared_ptr<write_order> order{};
};

/// Reads and writes volumes, and calls `done` when requests have ended. Data moves between the SSDs
/// and the requests' memory, without a copy. Changes of the same block are carried out one after
/// another, so that all its replicas end up equal.
class block_engine final : public request_engine {
 public:
  /// @param link was opened with `session_options::asynchronous`; outlives this, as does `epochs`
  /// @param channel `array_link::host_of`
  /// @param epochs of the array, followed by somebody; null for plain namespaces
  /// @param shares of the channel, among all engines that use it
  block_engine(host::array_link& link, std::uint32_t channel, host::epoch_watcher* epochs,
               const block_settings& settings, std::shared_ptr<ssd_shares> shares);
  /// Of a channel of `link`.
  static std::shared_ptr<ssd_shares> shares_of(const host::array_link& link);
  ~block_engine() override;

  /// Begins a request. @par Callers the thread, also in `block_request::done`
  void submit(block_request& r);
  bool wakes(int event_fd) override;
  void arm() override;
  bool progress() override;
  bool is_idle() const override {
    return under_way_.empty() && next_.empty() && waiting_.empty() && withheld_.empty() &&
           behind_.empty();
  }
  /// @par Result also true if requests wait for another epoch or connection, for an SSD that is
  /// silent, or for their turn behind others' changes, and for nothing else
  bool only_waits() const override {
    return away_ || (under_way_.empty() && next_.empty() && !is_idle());
  }
  void give_up() override;

 private:
  friend class block_request;  // says that its turn has come
  struct ended {
    block_engine* engine;
    void operator()(const io_event& e) const;
  };

  bool round();
  /// True if answers, its own or others', let it go on.
  bool wants_answers() const { return !under_way_.empty() || !next_.empty(); }
  void turn_comes(block_request& r);
  bool take_handed_over();
  void end_former_life();
  void end_expired();
  bool begin_some();
  enum class beginning : std::uint8_t { done, no_room, no_share, silent };
  /// @param lacking SSDs that earlier requests wait for, by bit; more, if this one has to
  beginning begin(block_request& r, std::uint64_t& lacking);
  void operation_ended(block_request& r, status s);
  void forget(block_request& r);
  std::uint64_t avoidable(const block_request& r, const volume_info& v) const;
  bool look_at_silent();
  result<io_ticket> send(block_request& r, const remote_volume& volume, completion_call then,
                         std::uint64_t now_ns);
  void settle(block_request& r, status s);
  bool goes_on(block_request& r, status s);
  bool finds_epoch();
  bool may_be_sent_again(status s) const;
  void queue(block_request& r);
  void finish(block_request& r, status s);
  void turn(block_request& r, request_phase to, std::uint64_t now_ns);
  void leave(block_request& r, std::uint64_t now_ns);
  void end_late_waiters(std::uint64_t now_ns);
  void end_late_behind(std::uint64_t now_ns);
  static ssd_asks asks_of(const block_request& r, const volume_info& v);

  host::array_link* link_;
  const std::uint32_t channel_;
  channel_listener listener_;
  host::epoch_watcher* epochs_;
  const block_settings settings_;
  const std::shared_ptr<ssd_shares> shares_;
  const std::shared_ptr<write_order> order_;
  std::deque<block_request*> next_;            ///< to be sent
  std::vector<block_request*> waiting_;        ///< for another epoch or connection
  std::vector<block_request*> withheld_;       ///< from SSDs that are silent
  std::unordered_set<block_request*> behind_;  ///< others' changes of their blocks
  std::uint64_t next_look_ns_ = 0;             ///< when these are looked at again
  std::unordered_set<block_request*> under_way_;
  std::shared_ptr<void> use_;  ///< of the link, while something is under way
  std::uint64_t life_ = 0;     ///< `array_link::lives` of what is under way
  std::uint64_t started_ = 0;  ///< `array_link::fresh_starts` of what is sent now
  bool sends_ = true;
  bool failed_ = false;            ///< the array serves nothing any more
  bool away_ = false;              ///< the connection is lost, and is not there again
  std::uint64_t next_try_ns_ = 0;  ///< when that is looked at again

  std::mutex guard_;  ///< of what follows
  /// Operations of this engine whose answers another one has taken from the channel.
  std::vector<std::pair<block_request*, status>> handed_over_;
  std::vector<block_request*> come_;  ///< of `behind_`, those whose turn it is
  std::atomic<bool> any_handed_over_{false};
};

}  // namespace gnstor::serve

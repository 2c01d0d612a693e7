#pragma once

#include "block_request.hpp"
#include <gnstor/core/duration.hpp>
#include <gnstor/io/epoch_board.hpp>
#include <gnstor/volume/remote_volume.hpp>
#include <link/array_link.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace gnstor::serve {

/// How a block service treats its requests.
struct block_settings {
  /// From `submit` to `done` at most, as long as the array's node runs.
  duration patience = std::chrono::seconds(10);
  /// The array has a manager: a request that fails with an SSD waits for the next epoch, and is
  /// carried out again there. Otherwise only one that a later epoch has overtaken is.
  bool managed = false;
  /// The link makes a lost connection again: what it cost is sent once more then.
  bool reconnects = false;
};

/// Reads and writes volumes for any number of callers, none of whom waits: one thread sends their
/// requests by the link's own channel, as many at once as that has room for, and calls `done` when
/// they have ended. Data moves between the SSDs and the requests' memory, without a copy.
///
/// Requests have no order: one that must come behind another is submitted when that has ended.
class block_service {
 public:
  /// @param link was opened with `session_options::asynchronous`; nobody else uses its `host`
  /// channel's asynchronous calls. Outlives this, as does `epochs`
  /// @param epochs of the array, followed by somebody; null for plain namespaces
  block_service(host::array_link& link, epoch_board* epochs, const block_settings& settings);
  /// Ends what has not ended with `closed`, and what is under way with its memory lost.
  ~block_service();
  block_service(const block_service&) = delete;
  block_service& operator=(const block_service&) = delete;

  /// Begins a request. @par Callers any thread, also `block_request::done`
  void submit(block_request& r);

 private:
  struct ended {
    block_service* service;
    void operator()(const io_event& e) const;
  };

  void serve();
  void sleep();
  void carry_on();
  bool take_incoming();
  bool begin_some();
  bool begin(block_request& r);
  result<io_ticket> send(block_request& r, const remote_volume& volume, completion_call then);
  void settle(block_request& r, status s);
  bool wakes(block_request& r, status s);
  bool finds_epoch();
  bool may_be_sent_again(status s) const;
  void finish(block_request& r, status s);
  void give_up_waiting(std::uint64_t now_ns);
  volume_info present(const block_request& r) const;
  std::uint64_t attempt_ns() const;

  host::array_link* link_;
  epoch_board* epochs_;
  const block_settings settings_;

  // The thread's own.
  std::deque<block_request*> next_;      ///< to be sent
  std::vector<block_request*> waiting_;  ///< for another epoch
  std::uint32_t under_way_ = 0;
  std::uint64_t started_ = 0;  ///< `array_link::fresh_starts` of what is sent now

  std::mutex guard_;  ///< of what follows
  std::condition_variable changed_;
  std::vector<block_request*> incoming_;
  bool stopping_ = false;
  std::atomic<bool> has_incoming_{false};  ///< something came, or it is to stop
  std::thread thread_;
};

}  // namespace gnstor::serve

#pragma once

#include "admin_queue.hpp"
#include "controller_limits.hpp"
#include "controller_options.hpp"
#include "namespace_info.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/association_end.hpp>

#include <condition_variable>
#include <thread>
#include <vector>

namespace gnstor::host::fabrics {

/// Owns an association with an NVMe over Fabrics controller: the admin queue, the signs of life,
/// the events, and the knowledge of its namespaces.
///
/// When the association is lost, every I/O queue ends: requests in flight come back `flushed`, new
/// ones are refused. A thread of the controller then tries to make the association again, until the
/// loss timeout. I/O queues are made again by their owners, when no lane uses them: `io_channel`.
class controller {
 public:
  /// Takes a queue off the controller's list before it is destroyed. One that had ended by itself
  /// ends the association.
  struct link_closer {
    controller* of = nullptr;
    void operator()(queue_link* link) const;
  };
  using link_handle = std::unique_ptr<queue_link, link_closer>;
  /// The association that a queue has joined.
  struct joined_association {
    std::uint64_t number = 0;
    std::uint64_t fresh_starts = 0;  ///< when it began
  };

  /// Connects. Throws `verbs::connect_error`, `input_error` or `io_error` with cause and remedy.
  /// @param way outlives the controller
  controller(transport& way, controller_options options);
  /// Ends the association. I/O queues are ended before.
  ~controller();
  controller(const controller&) = delete;
  controller& operator=(const controller&) = delete;

  const controller_options& options() const { return options_; }
  const host_identity& host() const { return host_; }
  std::string peer() const { return way_.peer(); }
  controller_limits limits() const;
  std::vector<namespace_info> namespaces() const;
  /// The namespace with this id. Throws `input_error` that says why it cannot be used.
  namespace_info find_namespace(std::uint32_t nsid) const;
  /// What was granted or done otherwise than asked.
  std::vector<std::string> notes() const;

  /// The admin queue of the present association. Throws `io_error` while there is none.
  std::shared_ptr<admin_queue> admin() const;
  /// Number of the association, from 1 on; 0 while there is none.
  std::uint64_t association() const;
  /// Waits until there is an association later than number `after`. Its number. Throws `io_error`
  /// when the loss timeout or `timeout` has passed.
  std::uint64_t wait_ready(std::chrono::milliseconds timeout, std::uint64_t after = 0) const;
  /// True if that would not wait. Throws `io_error` once the loss timeout has passed.
  bool is_ready(std::uint64_t after) const;
  /// Why there is none.
  io_error loss() const;

  std::unique_ptr<registered_memory> register_memory(void* address, std::uint64_t bytes) const {
    return way_.register_memory(address, bytes);
  }
  /// Number of times that the association was made again and nothing that was sent before was under
  /// way any more: the target has said so. What failed may be sent again then, and what came late
  /// of the first time cannot overtake it.
  std::uint64_t fresh_starts() const;
  /// True if nothing is under way any more of what was sent in association `number`, which was
  /// lost: the target has said so, by now.
  bool has_ended(std::uint64_t number) const;
  /// True unless no association will come after this one of which that will be known.
  bool restores() const;
  /// Joins I/O queue `queue_id` (1 to `limits().queues`) of the present association; the device
  /// then sends Connect with `connect_data()`.
  /// @param in set to the association that it has joined
  link_handle open_link(std::uint16_t queue_id, unsigned char* memory, std::uint32_t depth,
                        joined_association& in);
  /// The same for a queue that lanes go on in. @par Callers as its `restart`
  void reopen_link(restartable_link& link, std::uint16_t queue_id, unsigned char* memory,
                   std::uint32_t depth, joined_association& in);
  /// Its end does not end the association any more.
  void forget_link(queue_link& link);
  /// The data of an I/O queue's Connect in the present association.
  wire::fabrics::connect_data connect_data() const;
  /// Has the next associations say as whom the target knows this session, which claims to be one:
  /// it is to stay the same. 0: as its host alone, and it claims nothing more.
  void stays(client_id client) { client_ = client.value; }
  /// A queue id that no open queue has. Throws `input_error` if all are in use.
  std::uint16_t take_queue_id();
  void give_queue_id(std::uint16_t queue_id);

 private:
  /// A new association, before anybody else sees it.
  struct found {
    std::shared_ptr<admin_queue> admin;
    controller_limits limits;
    std::vector<namespace_info> namespaces;
    std::vector<std::string> notes;
    std::uint64_t number = 0;  ///< for life, as the target says; 0: it says none
  };
  enum class phase { ready, lost, ended };

  found establish() const;
  std::uint64_t enable(admin_queue& admin) const;
  std::uint32_t grant_queues(admin_queue& admin, std::vector<std::string>& notes) const;
  static std::vector<namespace_info> list_namespaces(admin_queue& admin);
  void adopt(found f, bool fresh);
  bool end_former(admin_queue& admin);
  void run();
  void watch_once();
  bool watch_events(admin_queue& admin);
  bool watch_life(admin_queue& admin);
  void refresh_namespaces(admin_queue& admin);
  void end_former_again(admin_queue& admin);
  void lose(const std::string& why);
  void reconnect_once();
  void say(const std::string& text) const;
  queue_request request_for(std::uint16_t queue_id, unsigned char* memory, std::uint32_t depth,
                            const admin_queue& of) const;
  void note_link(queue_link& link, const std::shared_ptr<admin_queue>& of, joined_association& in);
  std::shared_ptr<admin_queue> admin_or_throw() const;
  io_error lost_error() const;

  static constexpr std::uint32_t unsaid = 0x10000;  ///< no client id

  transport& way_;
  controller_options options_;
  host_identity host_;
  std::atomic<std::uint32_t> client_{unsaid};  ///< of `stays`

  mutable std::mutex mutex_;  ///< guards what follows up to `thread_`
  mutable std::condition_variable changed_;
  phase phase_ = phase::lost;
  std::uint64_t association_ = 0;
  std::uint64_t fresh_starts_ = 0;
  std::uint64_t ended_until_ = 0;  ///< associations up to this one are over at the target, too
  bool ends_former_ = false;       ///< the target can say that of the present one
  std::shared_ptr<admin_queue> admin_;
  controller_limits limits_;
  std::vector<namespace_info> namespaces_;
  std::vector<std::string> notes_;
  std::vector<queue_link*> links_;  ///< of the present association
  bool queue_lost_ = false;         ///< one of them ended by itself and was closed
  std::vector<bool> queue_taken_;
  std::string loss_;  ///< why the last association was lost, or the last try failed
  bool stop_ = false;

  // What only the controller's thread uses.
  using clock = std::chrono::steady_clock;
  result<ticket> event_ = gnstor::status::make(status_code::not_ready, reporter::caller);
  result<ticket> life_ = gnstor::status::make(status_code::not_ready, reporter::caller);
  bool events_refused_ = false;
  std::uint64_t number_ = 0;                        ///< of the present association, for life
  std::vector<wire::afa::association_end> former_;  ///< may have something under way
  bool unknown_former_ = false;                     ///< one that cannot be named may, too
  clock::time_point life_sent_{};
  clock::time_point lost_at_{};
  clock::time_point next_try_{};
  clock::time_point next_end_{};  ///< when the former ones are to be ended again
  std::chrono::milliseconds pause_{0};
  std::thread thread_;
};

}  // namespace gnstor::host::fabrics

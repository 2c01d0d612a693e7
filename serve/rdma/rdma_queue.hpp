#pragma once

#include "parted_read.hpp"
#include "queue_memory.hpp"
#include <serve/connection_limits.hpp>
#include <serve/stage_map.hpp>
#include <serve/target_queue.hpp>
#include <serve/target_workers.hpp>
#include <verbs/connection.hpp>

#include <array>
#include <deque>
#include <functional>

namespace gnstor::serve {

/// One queue of a host over RDMA: a connection, its memory, and the thread that serves it.
///
/// The thread does all verbs calls and all decisions; what may wait for the array goes to the
/// workers and comes back. A receive goes back to the device before the response to its command is
/// sent, so that a host within its queue size never finds the target without one.
class rdma_queue {
 public:
  /// Sends that a connection has room for, with so many receives: a response each, and before it a
  /// read of its command's data or a write; and parts of reads.
  static constexpr std::uint32_t send_depth(std::uint32_t entries) {
    return 3 * entries + 8 + 2 * most_early_writes;
  }
  /// @param connection prepared, with `memory.entries()` receives of room and `send_depth`; not
  /// accepted yet
  /// @param sends_parts long reads leave part by part, as they come from the array
  rdma_queue(host::verbs::connection connection, queue_memory memory, target_model& target,
             std::uint16_t qid, target_workers& workers, bool sends_parts);
  ~rdma_queue();
  rdma_queue(const rdma_queue&) = delete;
  rdma_queue& operator=(const rdma_queue&) = delete;

  /// Starts the thread: accepts, and serves until the connection or the association ends. Throws
  /// `error` if there is none left.
  void start();
  /// Tells the thread to end.
  void stop();
  /// The connection as the limits see it. Any thread may ask.
  known_connection known() const { return {peer_, queue_.id(), standing_.load()}; }
  /// Memory that it has, or will have once its Connect has succeeded.
  std::size_t memory_bytes() const { return memory_.bytes(); }
  /// True once the thread has nothing more to do.
  bool finished() const { return finished_.load(std::memory_order_acquire); }

 private:
  /// A command in flight, by its receive.
  struct command {
    plan what;
    answer outcome;
    stage_range stage;
    std::vector<stage_range> more_stages{};  ///< of parts that got other memory
    bool early = false;                      ///< its data is in the early stage
    bool parted = false;                     ///< its data leaves as `parted_` says
    std::uint32_t relayed = 0;               ///< blocks, at least 1, if an engine passes it on
    std::uint32_t writes = 0;                ///< of parts, posted
    std::uint64_t began_ns = 0;              ///< its parts were asked for
    bool in_phase = false;                   ///< `phase`
    request_phase phase = request_phase::buffer;
    std::uint64_t since_ns = 0;  ///< when it came to that
  };
  /// Its blocks, which an engine moves, and those of a part of it.
  class movement;
  struct parts;
  /// Its command, which an engine passes on.
  class relaying;
  static constexpr std::uint32_t most_early_writes = 64;

  void serve();
  bool round();
  void sleep(int most_ms);
  void close();

  void take(const ibv_wc& done);
  void received(std::uint32_t k, std::uint32_t bytes);
  void begin(std::uint32_t k);
  void run(std::uint32_t k);
  void respond(std::uint32_t k);
  void welcome(command& c);
  void post_receive(std::uint32_t k);
  void send_response(const wire::nvme::completion_entry& r, const plan* p, const command* of);
  void send_events();
  std::span<std::byte> data_of(const command& c, std::uint32_t k) const;
  bool take_stage(command& c);
  void give_stage(command& c);
  std::span<std::byte> staged_data(const command& c) const;
  void turn(command& c, request_phase to);
  void leave(command& c);
  bool moves(const command& c) const { return c.what.moves_blocks && mover_ != nullptr; }
  void prepare_engine();
  void prepare_relay();
  io_buffer memory_of(command& c, std::uint32_t k);
  void relay(std::uint32_t k);
  void choose_way(command& c);
  void end_relay(command& c);
  void move_blocks(std::uint32_t k);
  bool moves_range(command& c, movement& m);
  void move_parts(std::uint32_t k);
  void part_ended(std::uint32_t k, std::uint32_t part, status outcome);
  void send_parts(std::uint32_t k, bool early);
  void lose_stage(command& c, const io_buffer& memory);
  std::optional<stage_range> other_stage(command& c, std::uint64_t bytes);
  void take_moved(bool answers);
  bool goes_on(std::uint32_t k, bool answers);
  bool moving() const { return engine_ != nullptr && !engine_->is_idle(); }
  void post(host::verbs::work_kind kind, const host::verbs::work& w);
  void send_posted();
  void give_memory_back();
  void wake();
  void forget_wake_ups();

  std::optional<host::verbs::connection> connection_;
  queue_memory memory_;
  target_queue queue_;
  target_workers* workers_;
  array_gateway* array_;
  std::string peer_;  ///< address
  std::string name_;  ///< for messages
  std::atomic<standing> standing_{standing::stranger};

  std::vector<command> commands_;
  std::vector<command> stage_of_response_;  ///< whose data goes before it
  stage_map stages_;
  bool early_taken_ = false;
  std::vector<std::uint32_t> free_responses_;
  std::deque<std::uint32_t> want_stage_;     ///< commands
  std::deque<std::uint32_t> want_response_;  ///< commands
  std::uint32_t at_work_ = 0;                ///< commands with the workers
  std::vector<host::verbs::chained_work> to_post_;
  std::unique_ptr<block_engine> mover_;    ///< of a volume's hosts; else null
  std::unique_ptr<command_engine> relay_;  ///< of the array's hosts; else null
  request_engine* engine_ = nullptr;       ///< either, or null
  bool wakes_ = false;                     ///< the engine wakes the thread
  io_buffer reach_{};                      ///< the staging memory, as the array knows it
  const std::uint32_t most_blocks_;        ///< of a command
  std::vector<movement> movements_;        ///< by command
  std::vector<relaying> relayings_;        ///< likewise
  std::vector<std::uint32_t> relayed_;     ///< commands that have ended
  /// Blocks of commands that the engine passes on, by SSD.
  std::array<std::uint32_t, max_ssds> relayed_blocks_{};
  std::vector<parts> parted_;           ///< likewise
  std::vector<std::uint32_t> arrived_;  ///< commands that have parts to send
  std::vector<std::uint32_t> moved_;    ///< commands whose blocks have been moved
  const bool sends_parts_;
  std::uint32_t early_writes_ = 0;  ///< writes of parts that the device may not have done yet
  const char* broken_ = nullptr;    ///< why the connection is given up

  std::mutex guard_;  ///< of `handed_back_`
  std::vector<std::uint32_t> handed_back_;
  int wake_up_ = -1;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> finished_{false};
  std::uint64_t started_ms_ = 0;
  std::thread thread_;
};

}  // namespace gnstor::serve

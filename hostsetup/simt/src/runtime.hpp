#pragma once

#include "scheduler.hpp"
#include "scope_check.hpp"
#include "weak_memory.hpp"
#include <gnstor/simt_host/options.hpp>

#include <exception>
#include <string>

namespace gnstor::simt::host {

/// The machine behind one executor: its grids, their lanes, and what those lanes ask of the hook.
class runtime {
 public:
  explicit runtime(const options& chosen);
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  ~runtime();

  /// The runtime whose lanes run on this thread, or null.
  static runtime* active() { return active_; }

  void add(domain where, shape grid, shape block, std::size_t shared_bytes, std::uint32_t* stop,
           std::unique_ptr<kernel> body);
  /// The grid that was added last is a service that needs the others until it has ended.
  void ends_first();
  void run();

  std::uint64_t points() const { return points_; }
  std::uint64_t switches() const { return switches_; }
  const std::string& failure() const { return failure_text_; }
  std::string describe_lanes() const;

  static host_hook make_hook();

  /// @name What a running lane asks for, as `host_hook` says.
  /// @{
  void point(const char* what);
  std::uint64_t load(const void* word, std::uint64_t now, hook_order order, hook_scope scope);
  void store(const void* word, std::uint64_t before, std::uint64_t after, bool rmw,
             hook_order order, hook_scope scope);
  void fence(hook_order order);
  std::uint64_t collective_call(collective kind, std::uint32_t mask, std::uint64_t value,
                                int source, const char* file, unsigned line);
  std::uint32_t coalesce(const char* file, unsigned line);
  void block_sync(const char* file, unsigned line);
  void pause();
  std::uint64_t now_ns();
  /// @}

 private:
  static void lane_main(void* lane);

  void start();
  void finish();
  void ready(lane_state& l) { seeded_ ? draws_.ready(l) : turns_.ready(l); }
  lane_state* pick() { return seeded_ ? draws_.pick() : turns_.pick(); }
  void count_step();
  void turn_over(lane_state& l);
  void wait(lane_state& l, wait_kind kind, const char* file, unsigned line);
  void yield(lane_state& l);
  void switch_lane(lane_state& from, lane_state& to);
  void exit_lane(lane_state& l);
  void stop_services();

  meeting& meeting_of(warp_state& w, collective kind, std::uint32_t mask);
  bool complete(warp_state& w, meeting& m);
  void exchange(warp_state& w, collective kind, std::uint32_t lanes);
  void complete_all(warp_state& w);
  void release_barrier(block_state& b);
  void check_conflict(const lane_state& l, const meeting* own);
  void use_word(const void* word, hook_scope scope);

  void record(std::string what);
  void record_exception();
  std::string replay_text() const;
  [[noreturn, gnu::cold]] void fail(std::string what);
  [[noreturn, gnu::cold]] void fail(const char* what);

  static constinit inline thread_local runtime* active_ = nullptr;

  options options_;
  bool seeded_;
  random random_;
  strategy strategy_;
  turn_scheduler turns_;
  seeded_scheduler draws_;
  scope_check scopes_;
  std::unique_ptr<weak_memory> weak_;
  host_hook hook_;

  std::vector<std::unique_ptr<grid_state>> grids_;
  std::size_t stack_bytes_;
  std::uint32_t lane_count_ = 0;
  std::uint32_t block_count_ = 0;
  std::uint32_t live_ = 0;
  std::size_t ordinary_ = 0;  ///< of those, lanes that are not part of a service
  std::size_t first_ = 0;     ///< of those, lanes of services that end before others
  std::uint32_t run_length_ = 0;
  std::uint64_t points_ = 0;
  std::uint64_t switches_ = 0;
  std::uint64_t budget_end_ = 0;
  lane_state* running_ = nullptr;
  fiber* main_ = nullptr;
  std::exception_ptr failure_;
  std::string failure_text_;
  char start_edge_ = 0;  ///< ThreadSanitizer: from spawn to every lane
  char join_edge_ = 0;   ///< and from every lane's end to the runner
};

// The way from one lane to the next is inline down to the switch itself: see `fiber::switch_to`.

inline void runtime::switch_lane(lane_state& from, lane_state& to) {
  run_length_ = 0;
  if (&from == &to) return;
  running_ = &to;
  hook_.position = &to.position;
  ++switches_;
  from.context->switch_to(*to.context);
}

/// Runs another lane; `l` is either in a list of the scheduler or waits.
inline void runtime::yield(lane_state& l) {
  lane_state* next = pick();
  if (next == nullptr) fail("deadlock: no lane can run");
  switch_lane(l, *next);
}

/// Ends the turn of `l`, which can go on.
inline void runtime::turn_over(lane_state& l) {
  seeded_ ? draws_.ready(l) : turns_.later(l);
  yield(l);
}

inline void runtime::wait(lane_state& l, wait_kind kind, const char* file, unsigned line) {
  l.waits = kind;
  l.file = file;
  l.line = line;
}

inline void runtime::count_step() {
  if (++points_ > budget_end_ && seeded_) fail("livelock: the step budget is spent");
}

}  // namespace gnstor::simt::host

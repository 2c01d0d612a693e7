#pragma once

#include <deengine/queue_arbiter.hpp>
#include <gnstor/core/assert.hpp>
#include <gnstor/core/hash.hpp>

#include <timing/ssd_profile.hpp>

#include <deque>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

namespace gnstor::fw {

/// A command whose pages the firmware knows, for the timing model.
struct timed_command {
  enum class kind : std::uint8_t { read, write, flush };
  kind what = kind::read;
  std::uint32_t queue = 0;             ///< submission queue it waits in
  std::uint64_t tag = 0;               ///< the caller's name for it
  bool force_unit_access = false;      ///< a write that ends when it is in flash
  std::vector<std::uint32_t> pages{};  ///< physical pages it reads, or writes
};

/// A command that has ended.
struct timed_completion {
  std::uint64_t tag;
  std::uint64_t at;  ///< picoseconds
};

/// When the commands of one SSD end: a discrete-event model of its firmware, flash units, channels,
/// link and write buffer, each busy with one thing after another in the order of arrival.
///
/// It holds no data and decides nothing else: pages come from the firmware's own mapping. Time is
/// virtual, in picoseconds; equal calls give equal times.
class ssd_model {
 public:
  explicit ssd_model(const ssd_profile& profile);

  const ssd_profile& profile() const { return profile_; }
  /// Queues that are not added are of the low class.
  queue_arbiter& arbiter() { return arbiter_; }

  /// A command is in its submission queue. A write has no more pages than the buffer.
  /// @param now no earlier than the last call's; what happens before it was `run`
  void submit(std::uint64_t now, timed_command c);
  /// Garbage collection moves so many pages: stripe by stripe, each unit in turn senses and
  /// programs one, beside what commands ask of it.
  /// @param now as for `submit`
  void move(std::uint64_t now, std::uint32_t pages);
  /// When something happens next; `never` if nothing is under way.
  std::uint64_t next() const { return events_.empty() ? never : events_.top().at; }
  /// Lets everything happen up to `until`; adds what has ended to `out`, in order.
  void run(std::uint64_t until, std::vector<timed_completion>& out);

  static constexpr std::uint64_t never = ~std::uint64_t{0};

  /// Pages whose writes have ended, or may have, and that are not in flash yet: what a power cut
  /// finds in the buffer.
  std::vector<std::uint32_t> buffered() const;

 private:
  enum class stage : std::uint8_t {
    fetch,
    decoded,
    sensed,
    transferred,
    delivered,
    landed,
    moved,
    programmed
  };
  struct event {
    std::uint64_t at;
    std::uint64_t order;
    stage what;
    std::uint32_t which;  ///< command or stripe
    std::uint32_t pages;
    std::uint32_t unit;
    bool operator>(const event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  struct running {
    timed_command c;
    std::uint32_t left = 0;  ///< pieces of a read, stripes of a forced write
  };
  /// Rows of cells, `sense_pages` pages each, from the first to the last.
  struct row_range {
    std::uint32_t first = ~0u;
    std::uint32_t last = 0;
    void include(std::uint32_t row) {
      first = row < first ? row : first;
      last = row > last ? row : last;
    }
    bool covers(const row_range& other) const { return first <= other.first && other.last <= last; }
    bool has_slow() const { return first != last || first % 2 != 0; }
  };
  /// Pages of the buffer that are programmed together.
  struct stripe {
    std::uint32_t unit = 0;
    std::vector<std::uint32_t> pages{};
    std::vector<std::uint32_t> waiters{};  ///< commands that end with it
    bool leaving = false;
  };

  /// Stripes that follow each other are on different units. Each row of them begins elsewhere:
  /// shards that fill flash at the same speed do not all meet on one unit.
  std::uint32_t unit_of(std::uint32_t page) const {
    const std::uint32_t number = page / profile_.program_pages;
    return (number + mix32(number / profile_.units)) % profile_.units;
  }
  void later(std::uint64_t at, stage what, std::uint32_t which, std::uint32_t pages = 0,
             std::uint32_t unit = 0) {
    events_.push({at, order_++, what, which, pages, unit});
  }
  /// Uses a part that does one thing at a time: when it is done.
  static std::uint64_t use(std::uint64_t& busy_until, std::uint64_t now, std::uint64_t takes) {
    busy_until = (busy_until > now ? busy_until : now) + takes;
    return busy_until;
  }
  void happen(const event& e, std::vector<timed_completion>& out);
  void fetch();
  void start_read(std::uint32_t slot);
  void admit_writes();
  void make_room();
  void land(std::uint32_t slot, std::vector<timed_completion>& out);
  void program(std::uint32_t number);
  void flush(std::uint32_t slot, std::vector<timed_completion>& out);
  void end(std::uint32_t slot, std::vector<timed_completion>& out);
  std::uint32_t slot_for(timed_command c);

  ssd_profile profile_;
  queue_arbiter arbiter_;
  std::uint64_t now_ = 0;
  std::uint64_t order_ = 0;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::deque<timed_command> waiting_[queue_arbiter::most_queues];
  std::uint64_t backlog_ = 0;  ///< a bit for each queue that has commands
  bool fetching_ = false;
  std::vector<running> commands_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint64_t> unit_;
  std::vector<row_range> registers_;  ///< of each unit: what it has sensed last
  std::vector<std::uint64_t> channel_;
  std::uint64_t link_in_ = 0;
  std::uint64_t link_out_ = 0;
  std::uint32_t buffer_free_;
  std::deque<std::uint32_t> unadmitted_;                      ///< writes that wait for the buffer
  std::unordered_map<std::uint32_t, std::uint32_t> filling_;  ///< stripe of pages to its number
  std::vector<stripe> stripes_;
  std::vector<std::uint32_t> free_stripes_;
  std::uint32_t programming_ = 0;  ///< stripes on their way to flash
  std::uint32_t landing_ = 0;      ///< writes on their way into the buffer
  std::uint32_t to_move_ = 0;      ///< pages that do not make a stripe yet
  std::uint32_t mover_ = 0;        ///< unit that moves the next stripe
};

}  // namespace gnstor::fw

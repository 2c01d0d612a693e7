#pragma once

#include <hca/chunk_tracker.hpp>

#include <timing/elapsed_clock.hpp>
#include <timing/stream_profile.hpp>

#include <deque>
#include <optional>
#include <queue>
#include <vector>

namespace gnstor::fw {

/// A NIC that puts the data of reads on the wire out of memory of its own, in the order and at the
/// rates of a profile, for a clock that goes on by itself: bytes really lie in that memory, and
/// leave it when the time has come. gmblock, 4.
///
/// Requests share the memory, and wait in order where there is none. A packet leaves once
/// `chunk_tracker` says that all up to its end is there; who has none ready is passed over, so that
/// a flash unit that stalls holds up its own requests only.
///
/// It decides alone, without the model of `stream_model.hpp`, which tests compare it with.
/// @par Callers one owner
class stream_sender {
 public:
  static constexpr std::uint32_t grain_bytes = 4096;  ///< that move in one step: a block, a packet

  /// One read. Blocks are those of `grain_bytes` bytes, numbered from 0.
  struct request {
    std::uint64_t tag = 0;    ///< the caller's name for it
    std::uint64_t first = 0;  ///< byte of its volume where it begins: says which unit holds what
    std::uint32_t ssd = 0;
    std::uint32_t blocks = 0;
  };
  /// The bytes' way in and out.
  class ports {
   public:
    ports() = default;
    ports(const ports&) = delete;
    ports& operator=(const ports&) = delete;
    virtual ~ports() = default;
    /// Copies a block out of flash. False: it is damaged, and its request ends without the rest.
    virtual bool fetch(std::uint64_t tag, std::uint32_t block, unsigned char* into) = 0;
    /// Copies a block into the client's memory.
    virtual void send(std::uint64_t tag, std::uint32_t block, const unsigned char* from) = 0;
  };
  /// Means of a request, in picoseconds, as the seed's 3.2 tells them apart.
  struct phases {
    std::uint64_t requests = 0;
    std::uint64_t init = 0;
    std::uint64_t read = 0;
    std::uint64_t send_init = 0;
    std::uint64_t send = 0;  ///< all data is there, and some has not gone out
    std::uint64_t fin = 0;
  };

  /// @param p `buffer_bytes` is at least one request
  /// @param ssds behind this NIC
  stream_sender(const stream_profile& p, std::uint32_t ssds);

  const stream_profile& profile() const { return p_; }
  /// A read has come. @param now nanoseconds of the clock
  void submit(std::uint64_t now, const request& r);
  /// Lets time pass, and data with it.
  /// @par Result tags of the requests that have ended; valid until the next call
  const std::vector<std::uint64_t>& run(std::uint64_t now, ports& by);
  /// True if no request is under way.
  bool is_idle() const { return under_way_ == 0; }
  /// When something happens next, in the clock's nanoseconds, rounded up; `never`.
  std::uint64_t next() const { return events_.empty() ? never : clock_.shows(events_.top().at); }
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  /// What took how long since the beginning.
  phases means() const;

 private:
  enum class stage : std::uint8_t {
    arrived,    ///< a request
    opened,     ///< the NIC has handled it
    posted,     ///< its send
    sensed,     ///< a unit has a block ready
    delivered,  ///< the way from flash has brought a block
    fetched,    ///< a block has come from host memory into the NIC's
    sent,       ///< a packet is out
    finished,
  };
  struct event {
    std::uint64_t at;
    std::uint64_t order;
    stage what;
    std::uint32_t slot;
    std::uint32_t block;
    bool operator>(const event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  /// A block that waits for a part which moves one at a time.
  struct grain {
    std::uint32_t slot;
    std::uint32_t block;
  };
  struct mover {
    std::deque<grain> waiting;
    bool busy = false;
  };
  struct unit : mover {
    std::uint64_t served = never;  ///< request that it has had access to last
  };
  /// A request under way.
  struct transfer {
    request r;
    std::uint64_t number = 0;
    std::uint64_t since = 0;    ///< when its present phase began
    std::uint32_t arrived = 0;  ///< blocks out of flash
    std::uint32_t sent = 0;     ///< blocks
    bool busy = false;
    bool open = false;  ///< its send was posted
    bool damaged = false;
    bool on_wire = false;
    std::vector<std::uint32_t> memory;  ///< blocks of the NIC's
    std::vector<unsigned char> stage;   ///< host memory, where data is staged there
    std::vector<std::uint32_t> words;   ///< of its tracker
  };

  void later(std::uint64_t wait, stage what, std::uint32_t slot, std::uint32_t block = 0) {
    events_.push({now_ + wait, order_++, what, slot, block});
  }
  void happen(const event& e, ports& by);
  void begin();
  void read(std::uint32_t slot);
  void sense(unit& u);
  void sensed(const event& e);
  void deliver(std::uint32_t ssd);
  void arrive(const event& e, ports& by);
  void fetch();
  void put_on_wire(ports& by);
  void end_if_done(std::uint32_t slot);
  chunk_tracker<thread_scope_system> tracker(transfer& t) const;
  unit& unit_of(const grain& g);
  mover& way_of(std::uint32_t ssd) { return ways_[p_.one_bus ? 0 : ssd]; }
  unsigned char* memory_of(const transfer& t, std::uint32_t block) {
    return memory_.data() + std::size_t{t.memory[block]} * grain_bytes;
  }

  const stream_profile p_;
  elapsed_clock clock_;
  std::vector<unsigned char> memory_;  ///< the NIC's
  std::vector<std::uint32_t> free_;    ///< its blocks
  std::deque<std::uint32_t> waiting_;  ///< requests for which there is no room
  std::vector<transfer> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<unit> units_;  ///< `p_.units` of each SSD
  std::vector<mover> ways_;  ///< from flash: one for all, or one of each SSD
  mover fetches_;            ///< from host memory
  bool wire_busy_ = false;
  std::uint32_t turn_ = 0;  ///< whose packet is next
  std::uint32_t under_way_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t order_ = 0;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  phases sums_;
  std::vector<std::uint64_t> ended_;
};

}  // namespace gnstor::fw

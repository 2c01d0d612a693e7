#include <gnstor/core/hash.hpp>
#include <hca/chunk_tracker.hpp>

#include <timing/stream_model.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <queue>

namespace gnstor::fw {
namespace {

constexpr std::uint32_t grain_most = 4096;  ///< bytes that move in one step

/// The byte that flash holds at `at` of a request.
unsigned char flash_byte(std::uint64_t request, std::uint32_t at) {
  return static_cast<unsigned char>(mix64(request << 24 | at / 8) >> (at % 8 * 8) | 1);
}

/// One request under way. Its part of the NIC's memory is blank (0) until data comes.
struct transfer_state {
  std::uint64_t number = 0;
  std::uint64_t arrived_at = 0;
  std::uint64_t init_done = 0;
  std::uint64_t read_done = 0;
  std::uint32_t read_bytes = 0;
  std::uint32_t sent = 0;
  bool sending = false;  ///< a send was posted
  bool busy = false;
  std::vector<unsigned char> memory;
  std::vector<std::uint32_t> words;
};

/// Bytes of a request on their way.
struct grain {
  std::uint32_t slot = 0;
  std::uint32_t first = 0;
  std::uint32_t bytes = 0;
};

/// A part that moves one grain after another.
struct mover {
  std::deque<grain> waiting;
  bool busy = false;
};

class streamer {
 public:
  streamer(const stream_profile& p, std::uint32_t requests)
      : p_(p), left_(requests), units_(p.units), seen_(p.units, ~std::uint64_t{0}) {
    const std::uint32_t room = std::max(p.buffer_bytes / p.request_bytes, 1u);
    slots_.resize(std::min(p.outstanding, room));
    result_.took.resize(requests);
  }

  stream_result run() {
    for (std::uint32_t s = 0; s < slots_.size(); ++s) start(s);
    while (!events_.empty()) {
      const event e = events_.top();
      events_.pop();
      now_ = e.at;
      e.what();
    }
    result_.elapsed = now_;
    for (std::uint64_t* phase :
         {&result_.init, &result_.read, &result_.send_init, &result_.send, &result_.fin})
      *phase /= std::max<std::uint64_t>(result_.requests, 1);
    return std::move(result_);
  }

 private:
  struct event {
    std::uint64_t at;
    std::uint64_t order;
    std::function<void()> what;
    bool operator>(const event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  void after(std::uint64_t wait, std::function<void()> what) {
    events_.push({now_ + wait, order_++, std::move(what)});
  }
  chunk_tracker<thread_scope_system> tracker(transfer_state& t) const {
    const bool whole = p_.path == stream_path::store_and_forward;
    return {t.words.data(), p_.request_bytes, whole ? p_.request_bytes : p_.chunk_bytes};
  }

  void start(std::uint32_t s) {
    if (left_ == 0) return;
    --left_;
    transfer_state& t = slots_[s];
    t = {};
    t.number = number_++;
    t.arrived_at = now_;
    t.busy = true;
    t.memory.assign(p_.request_bytes, 0);
    const std::uint32_t least = std::min(p_.chunk_bytes, p_.request_bytes);
    t.words.assign(2 * (p_.request_bytes / least + 2), 0);
    tracker(t).clear();
    result_.init += p_.handling;
    after(p_.handling, [this, s] { opened(s); });
  }
  /// A synchronised send is posted before the read, another after it.
  void opened(std::uint32_t s) {
    slots_[s].init_done = now_;
    if (p_.path == stream_path::synchronised) {
      result_.send_init += p_.handling;
      after(p_.handling, [this, s] {
        slots_[s].sending = true;
        slots_[s].init_done = now_;
        read(s);
      });
    } else {
      read(s);
    }
  }
  std::uint32_t unit_of(const transfer_state& t, std::uint32_t at) const {
    return static_cast<std::uint32_t>((t.number * p_.request_bytes + at) / p_.stripe_bytes %
                                      p_.units);
  }
  void read(std::uint32_t s) {
    transfer_state& t = slots_[s];
    const std::uint32_t step = std::min({grain_most, p_.request_bytes, p_.chunk_bytes});
    for (std::uint32_t at = 0; at < p_.request_bytes; at += step) {
      const std::uint32_t u = unit_of(t, at);
      units_[u].waiting.push_back({s, at, std::min(step, p_.request_bytes - at)});
    }
    for (std::uint32_t u = 0; u < p_.units; ++u) sense(u);
  }
  /// A unit works on its next grain.
  void sense(std::uint32_t u) {
    mover& unit = units_[u];
    if (unit.busy || unit.waiting.empty()) return;
    unit.busy = true;
    const grain g = unit.waiting.front();
    unit.waiting.pop_front();
    const double rate = u == p_.slow_unit ? p_.slow_rate : p_.unit_rate;
    std::uint64_t takes = stream_profile::time_of(g.bytes, rate);
    if (seen_[u] != slots_[g.slot].number) takes += p_.access;
    seen_[u] = slots_[g.slot].number;
    after(takes, [this, u, g] {
      units_[u].busy = false;
      bus_.waiting.push_back(g);
      if (p_.in_order) {
        // The lowest byte first; requests in turn, the oldest first.
        std::stable_sort(bus_.waiting.begin(), bus_.waiting.end(),
                         [this](const grain& a, const grain& b) { return earlier(a, b); });
      }
      deliver();
      sense(u);
    });
  }
  bool earlier(const grain& a, const grain& b) const {
    const std::uint64_t x = slots_[a.slot].number;
    const std::uint64_t y = slots_[b.slot].number;
    return x != y ? x < y : a.first < b.first;
  }
  /// The way from flash takes its next grain.
  void deliver() {
    if (bus_.busy || bus_.waiting.empty()) return;
    bus_.busy = true;
    const grain g = bus_.waiting.front();
    bus_.waiting.pop_front();
    const bool staged = p_.path == stream_path::staged;
    after(stream_profile::time_of(g.bytes, staged ? p_.flash_to_memory : p_.flash_to_nic),
          [this, g, staged] {
            transfer_state& t = slots_[g.slot];
            for (std::uint32_t k = 0; k < g.bytes; ++k)
              t.memory[g.first + k] = flash_byte(t.number, g.first + k);
            t.read_bytes += g.bytes;
            if (!staged) tracker(t).arrived(g.first, g.bytes);
            if (t.read_bytes == p_.request_bytes) read_done(g.slot);
            bus_.busy = false;
            deliver();
            if (p_.one_bus) fetch();
            put_on_wire();
          });
  }
  void read_done(std::uint32_t s) {
    transfer_state& t = slots_[s];
    t.read_done = now_;
    result_.read += now_ - t.init_done;
    if (p_.path == stream_path::synchronised) return;
    result_.send_init += p_.handling;
    after(p_.handling, [this, s] {
      transfer_state& sent = slots_[s];
      sent.sending = true;
      sent.read_done = now_;
      if (p_.path == stream_path::staged) {
        for (std::uint32_t at = 0; at < p_.request_bytes; at += grain_most)
          fetches_.waiting.push_back({s, at, std::min(grain_most, p_.request_bytes - at)});
        fetch();
      }
      put_on_wire();
    });
  }
  /// The NIC takes its next grain out of host memory.
  void fetch() {
    mover& way = p_.one_bus ? bus_ : fetches_;
    if (way.busy || fetches_.waiting.empty()) return;
    way.busy = true;
    const grain g = fetches_.waiting.front();
    fetches_.waiting.pop_front();
    after(stream_profile::time_of(g.bytes, p_.memory_to_nic), [this, g] {
      (p_.one_bus ? bus_ : fetches_).busy = false;
      tracker(slots_[g.slot]).arrived(g.first, g.bytes);
      fetch();
      deliver();
      put_on_wire();
    });
  }
  /// The wire takes a packet of the next request that has one: who has none is passed over.
  void put_on_wire() {
    if (wire_busy_) return;
    for (std::size_t k = 0; k < slots_.size(); ++k) {
      const std::uint32_t s = static_cast<std::uint32_t>((turn_ + k) % slots_.size());
      transfer_state& t = slots_[s];
      if (!t.busy || !t.sending || t.sent == p_.request_bytes) continue;
      const std::uint32_t bytes = std::min(p_.packet_bytes, p_.request_bytes - t.sent);
      if (tracker(t).valid(t.sent) < bytes) continue;
      for (std::uint32_t b = t.sent; b < t.sent + bytes; ++b)
        result_.wrong_bytes += t.memory[b] != flash_byte(t.number, b) ? 1 : 0;
      t.sent += bytes;
      wire_busy_ = true;
      turn_ = s + 1;
      after(stream_profile::time_of(bytes, p_.wire), [this, s] {
        wire_busy_ = false;
        if (slots_[s].sent == p_.request_bytes) finish(s);
        put_on_wire();
      });
      return;
    }
  }
  void finish(std::uint32_t s) {
    transfer_state& t = slots_[s];
    t.busy = false;
    result_.send += now_ - t.read_done;
    result_.fin += p_.handling;
    ++result_.requests;
    after(p_.handling, [this, s] {
      result_.took[slots_[s].number] = now_ - slots_[s].arrived_at;
      start(s);
    });
  }

  const stream_profile p_;
  std::uint32_t left_;
  std::vector<mover> units_;
  std::vector<std::uint64_t> seen_;  ///< request that each unit has had access to last
  mover bus_;
  mover fetches_;
  bool wire_busy_ = false;
  std::size_t turn_ = 0;
  std::vector<transfer_state> slots_;
  std::uint64_t number_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t order_ = 0;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  stream_result result_;
};

}  // namespace

stream_result stream(const stream_profile& p, std::uint32_t requests) {
  return streamer(p, requests).run();
}

std::uint64_t stream_bound(const stream_profile& p) {
  const std::uint64_t read = stream_profile::time_of(p.request_bytes, p.flash_to_nic);
  const std::uint64_t send = stream_profile::time_of(p.request_bytes, p.wire);
  const std::uint32_t first = std::min(p.chunk_bytes, p.request_bytes);
  return p.access + stream_profile::time_of(first, p.flash_to_nic) + std::max(read, send);
}

}  // namespace gnstor::fw

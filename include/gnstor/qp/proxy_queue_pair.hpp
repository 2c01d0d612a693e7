#pragma once

#include <gnstor/qp/handover_doorbell.hpp>
#include <gnstor/qp/proxy_queue_memory.hpp>
#include <gnstor/qp/restartable_queue_pair.hpp>
#include <gnstor/simt/copy.hpp>

namespace gnstor::inline v0 {

/// A reliable connection that a CPU thread drives for any number of lanes, over any transport.
///
/// Lanes write descriptors into a ring that the thread reads; it hands them to a port (a verbs
/// connection, an emulated NIC) and writes completions into a second ring. The tag of a descriptor
/// is its doorbell: there is nothing to announce. What the CPU reads or writes are loads and stores
/// of `Scope`; words that only the lanes share are of device scope, and may lie in the device's own
/// memory.
/// @tparam Scope the distance to the thread: `thread_scope_system`
template <thread_scope Scope = thread_scope_system>
class proxy_queue_pair {
 public:
  /// @param memory zero-filled, `proxy_queue_layout::of(depth).bytes` long, that the device and the
  /// CPU reach; at a multiple of 128
  /// @param local `local_bytes()` of zero-filled memory of the device; null if the local part lies
  /// behind the shared one in `memory`
  GNSTOR_HD proxy_queue_pair(unsigned char* memory, std::uint32_t depth,
                             unsigned char* local = nullptr)
      : memory_(memory), local_(local), mask_(depth - 1) {
    if (local_ == nullptr) local_ = memory + layout().local;
  }

  GNSTOR_HD std::uint32_t depth() const { return mask_ + 1; }

  /// Hands out `n` consecutive send indices, or would_block.
  /// @par Callers one lane, for its group; `n` <= depth
  /// @par Order acquires what `retire` released: the slots are free. Other lanes need `g.sync()`
  /// before they write
  /// @par Bound 64 attempts
  GNSTOR_HD result<std::uint64_t> try_reserve(std::uint32_t n) const {
    if (n == 0 || n > depth())
      return status::make(status_code::invalid_argument, reporter::queue_pair);
    std::uint64_t head = word(state().reserved).load(relaxed);
    for (bounded tries{64}; tries;) {
      const std::uint64_t retired = word(state().retired).load(acquire);
      if (head + n - retired > depth()) break;
      if (word(state().reserved).compare_exchange(head, head + n, relaxed)) return head;
    }
    return status::make(status_code::would_block, reporter::queue_pair);
  }

  /// Writes request `index` for a 64-byte command capsule; the CPU thread may take it at once.
  /// @par Callers the lane that owns the reserved `index`
  /// @par Order releases the caller's earlier writes to the CPU thread, and through it to the peer
  GNSTOR_HD void write_send(std::uint64_t index,
                            const wire::nvme::submission_entry& capsule) const {
    struct parts {
      simt::word16 part[4];
    };
    auto* copy = reinterpret_cast<unsigned char*>(&capsule_slot(index));
    const auto bytes = cuda::std::bit_cast<parts>(capsule);
    for (int k = 0; k < 4; ++k) simt::store16(copy + 16 * k, bytes.part[k]);
    proxy_request r;
    r.kind = proxy_request_kind::capsule;
    r.index = index;
    r.capsule = capsule;
    store(r);
  }

  /// Writes request `index` for an RDMA READ or WRITE; its completion is reported.
  /// @par Order as `write_send`
  GNSTOR_HD void write_one_sided(std::uint64_t index, const one_sided& t) const {
    proxy_request r;
    r.kind = proxy_request_kind::one_sided;
    r.index = index;
    r.transfer = t;
    store(r);
  }

  /// Writes request `index` as a NOP: what a lane does that reserved and then gave up. Its
  /// completion is reported: no response will retire it.
  GNSTOR_HD void write_nop(std::uint64_t index) const {
    proxy_request r;
    r.kind = proxy_request_kind::nop;
    r.index = index;
    store(r);
  }

  /// Nothing: a written descriptor is published. The CPU thread takes them in the order of their
  /// indices, so a reserved index that nobody writes holds up those behind it.
  GNSTOR_HD void publish(std::uint64_t, std::uint32_t) const {}
  /// Nothing: the CPU thread looks at the ring.
  GNSTOR_HD void ring() const {}
  /// More than there ever will be: what is written is published and announced.
  GNSTOR_HD std::uint64_t published() const { return ~std::uint64_t{0} >> 1; }
  GNSTOR_HD std::uint64_t announced() const { return ~std::uint64_t{0} >> 1; }
  /// Nothing: the port keeps the receives.
  GNSTOR_HD void post_receives() const {}

  /// Takes up to one completion a lane.
  /// @par Callers every lane of `g`, converged
  /// @par Result each lane its own completion, or kind `none`
  /// @par Order acquires what the CPU thread saw before the entry: the payload of the request is
  /// visible to the lane that got its response, and to others after `g.sync()`
  /// @par Bound one look
  GNSTOR_HD completion poll(const simt::group& g) const {
    constexpr std::uint64_t nothing = ~std::uint64_t{0};
    std::uint64_t first = 0;
    if (g.leads()) {
      first = word(state().consumed).load(acquire);
      // While nothing comes, a group's look is one read over the link, not one a lane.
      if (g.size() != 1 && !is_there(first)) first = nothing;
    }
    first = g.broadcast(first);
    if (first == nothing) return completion{};
    // The leader's acquire reaches every lane: without it a lane could take an entry of 128 laps
    // ago for a new one.
    g.sync();
    const std::uint64_t mine = first + g.thread_rank();
    const proxy_completion entry = load_completion(mine);
    const bool valid = is_whole(entry, proxy_tag(mine, log_depth() + 1));
    // The loads above must come before the claim below, which validates them: an entry is
    // overwritten only once claimed.
    const std::uint32_t ready = g.leading(valid);
    if (ready == 0) return completion{};
    g.sync();
    std::uint32_t claimed = 0;
    if (g.leads()) {
      std::uint64_t expected = first;
      claimed =
          word(state().consumed).compare_exchange(expected, first + ready, acq_rel) ? ready : 0;
      if (claimed != 0 && crosses_half(first, claimed)) release_completions();
    }
    claimed = g.broadcast(claimed);
    g.sync();
    if (g.thread_rank() >= claimed) return completion{};
    return unpack_proxy_completion(entry);
  }

  /// Request `index` and all before it have left the send queue.
  /// @par Order releases the slots to `try_reserve`
  GNSTOR_HD void retire(std::uint64_t index) const {
    word(state().retired).fetch_max(index + 1, acq_rel);
  }

  /// From one life of the queue pair to the next: `restartable_queue_pair`. The rings go on where
  /// they are. The next index is two laps behind any that was written, so that no old descriptor
  /// has its tag. Whether lanes have written what they reserved only the CPU thread knows, which
  /// takes it all.
  GNSTOR_HD queue_bar bar() const {
    queue_bar b;
    b.end = word(state().reserved).load(relaxed);
    for (bounded tries{65536}; tries;) {
      b.next = b.end + depth();
      if (word(state().reserved).compare_exchange(b.end, b.next, acq_rel)) return b;
    }
    return queue_bar{};
  }
  GNSTOR_HD bool is_written(std::uint64_t) const { return true; }
  GNSTOR_HD std::uint64_t taken() const { return word(state().consumed).load(acquire); }
  GNSTOR_HD bool restart(std::uint64_t) const { return true; }
  GNSTOR_HD bool open(std::uint64_t next) const {
    return word(state().reserved).compare_exchange(next, next + 1, relaxed);
  }

  /// The id of the command last written at `index`: tells which request a failed entry carried.
  GNSTOR_HD command_id sent_id(std::uint64_t index) const {
    return command_id(capsule_slot(index).command_id);
  }

 private:
  GNSTOR_HD static device_word<std::uint64_t> word(std::uint64_t& w) {
    return device_word<std::uint64_t>(w);
  }
  GNSTOR_HD proxy_queue_layout layout() const { return proxy_queue_layout::of(depth()); }
  GNSTOR_HD std::uint32_t log_depth() const {
    return static_cast<std::uint32_t>(cuda::std::popcount(mask_));
  }
  GNSTOR_HD proxy_queue_state& state() const {
    return *reinterpret_cast<proxy_queue_state*>(local_);
  }
  GNSTOR_HD wire::nvme::submission_entry& capsule_slot(std::uint64_t index) const {
    return reinterpret_cast<wire::nvme::submission_entry*>(
        local_ + sizeof(proxy_queue_state))[index & mask_];
  }

  GNSTOR_HD void store(const proxy_request& r) const {
    const proxy_descriptor d = pack_proxy_request(r, proxy_tag(r.index, log_depth()));
    auto* slot =
        reinterpret_cast<proxy_descriptor*>(memory_ + layout().descriptors) + (r.index & mask_);
    store_entry<Scope>(slot->word, d.word);
  }

  GNSTOR_HD std::uint64_t* completion_words(std::uint64_t index) const {
    auto* ring = reinterpret_cast<proxy_completion*>(memory_ + layout().completions);
    return ring[index & (2 * mask_ + 1)].word;
  }
  /// True if the last word of a completion entry is there.
  GNSTOR_HD bool is_there(std::uint64_t index) const {
    const atomic_ref<std::uint64_t, Scope> last(completion_words(index)[3]);
    return proxy_word_tag(last.load(relaxed)) == proxy_tag(index, log_depth() + 1);
  }
  GNSTOR_HD proxy_completion load_completion(std::uint64_t index) const {
    std::uint64_t* from = completion_words(index);
    proxy_completion entry;
    for (int k = 0; k < 3; ++k)
      entry.word[k] = atomic_ref<std::uint64_t, Scope>(from[k]).load(relaxed);
    // Last, so that all four are on their way together: what tells old words from new ones is their
    // tags.
    entry.word[3] = atomic_ref<std::uint64_t, Scope>(from[3]).load(acquire);
    return entry;
  }

  /// True if the claim of [first, first + n) ends a half of the completion ring.
  GNSTOR_HD bool crosses_half(std::uint64_t first, std::uint32_t n) const {
    return (first ^ (first + n)) > mask_;
  }
  /// Tells the CPU thread how many completions were taken, when half of the ring is used: one store
  /// for `depth` of them, and at rest never fewer than `depth` free entries. The thread holds
  /// completions back while it sees no room.
  GNSTOR_HD void release_completions() const {
    const auto look = [this] { return device_word<std::uint64_t>(state().consumed).load(acquire); };
    const auto write = [this](std::uint64_t consumed) {
      atomic_ref<std::uint64_t, Scope>(*reinterpret_cast<std::uint64_t*>(memory_))
          .store(consumed, release);
    };
    handover_ring(state().release_lock, look, write,
                  [&](std::uint64_t before) { return look() != before; });
  }

  unsigned char* memory_;
  unsigned char* local_;
  std::uint32_t mask_;
};

static_assert(restartable_queue_pair<proxy_queue_pair<>>);
static_assert(std::is_trivially_copyable_v<proxy_queue_pair<>> && sizeof(proxy_queue_pair<>) == 24);

}  // namespace gnstor::inline v0

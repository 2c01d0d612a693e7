#pragma once

#include <gnstor/qp/capsule/by_pointer.hpp>
#include <gnstor/qp/handover_doorbell.hpp>
#include <gnstor/qp/mlx5_queue_restart.hpp>
#include <gnstor/qp/restartable_queue_pair.hpp>
#include <gnstor/qp/sharing/shared.hpp>
#include <gnstor/simt/copy.hpp>
#include <gnstor/simt/mmio.hpp>
#include <gnstor/wire/endian.hpp>

#include <cuda/std/bit>

namespace gnstor::inline v0 {

/// An mlx5 reliable connection driven by any number of lanes: real WQE, CQE and doorbell bytes.
///
/// It does not know whether a ConnectX or the emulated NIC consumes them. Capsules are sent by
/// pointer (control segment and data segment, one basic block) or inside the entry, responses
/// arrive in a receive ring or, if the queue pair was made so, in their completions; one completion
/// queue serves both. Layouts: rdma-core `mlx5dv.h`; `include/gnstor/wire/mlx5`. Words that only
/// this side's lanes share are of device scope: read-modify-writes of system scope do not reach
/// host memory over PCIe. Rings and doorbells, which the peer reads and writes, are loads and
/// stores of `Scope`.
/// @tparam Scope the distance to the NIC: `thread_scope_system` for a NIC or another device
/// @tparam Sharing who uses the queue pair at once; the same memory either way, not at the same
/// time
/// @tparam Capsule where capsules lie; the layout of the memory follows it
template <thread_scope Scope = thread_scope_system, sharing_policy Sharing = sharing::shared,
          capsule_placement Capsule = capsule::by_pointer>
class mlx5_queue_pair {
 public:
  /// One lane at a time uses it: see `sharing_policy`.
  static constexpr bool alone = Sharing::alone;
  /// Basic blocks of a send entry. The NIC counts blocks, everybody else entries.
  static constexpr std::uint32_t blocks = Capsule::blocks;

  /// @param memory queue memory of `mlx5_queue_layout::of(depth, blocks)`, formatted, registered
  /// under `lkey`
  /// @param doorbell the UAR register; null if an emulated NIC polls the word inside `memory`
  GNSTOR_HD mlx5_queue_pair(unsigned char* memory, std::uint32_t depth, std::uint32_t number,
                            std::uint32_t lkey, std::uint64_t* doorbell = nullptr)
      : memory_(memory), doorbell_(doorbell), mask_(depth - 1), number_(number), lkey_(lkey) {
    if (doorbell_ == nullptr) doorbell_ = &state().doorbell;
  }

  /// The same queue pair, used by fewer or by more lanes at once from now on.
  template <sharing_policy Other>
  GNSTOR_HD mlx5_queue_pair<Scope, Other, Capsule> with() const {
    return {memory_, depth(), number_, lkey_, doorbell_};
  }

  GNSTOR_HD std::uint32_t depth() const { return mask_ + 1; }
  GNSTOR_HD std::uint32_t number() const { return number_; }

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

  /// Writes the send entry `index` for a 64-byte command capsule.
  /// @par Callers the lane that owns the reserved `index`
  GNSTOR_HD void write_send(std::uint64_t index,
                            const wire::nvme::submission_entry& capsule) const {
    wire::nvme::submission_entry& slot = capsule_slot(index);
    struct parts {
      simt::word16 part[4];
    };
    const auto bytes = cuda::std::bit_cast<parts>(capsule);
    if constexpr (blocks == 2) {
      simt::store16(&slot, bytes.part[0]);  // whose it is; the NIC reads the entry alone
      write_inline(index, bytes.part);
    } else {
      for (int k = 0; k < 4; ++k)
        simt::store16(reinterpret_cast<unsigned char*>(&slot) + 16 * k, bytes.part[k]);
      store_segment(
          index, 0,
          control(wire::mlx5::opcode::send, block_of(index), 2, wire::mlx5::completion_on_error));
      store_segment(
          index, 1,
          wire::mlx5::make_data(reinterpret_cast<std::uint64_t>(&slot), lkey_, sizeof slot));
    }
  }

  /// Writes the send entry `index` for an RDMA READ or WRITE; its completion is signalled.
  GNSTOR_HD void write_one_sided(std::uint64_t index, const one_sided& t) const {
    const auto op = t.write ? wire::mlx5::opcode::rdma_write : wire::mlx5::opcode::rdma_read;
    // In the entry's last block: its completion retires the entry, and the NIC must have all of it.
    constexpr int at = 4 * (blocks - 1);
    if constexpr (blocks == 2) write_pad(index, 0, wire::mlx5::completion_on_error);
    store_segment(index, at,
                  control(op, block_of(index, blocks - 1), 3, wire::mlx5::completion_always));
    store_segment(index, at + 1, wire::mlx5::make_remote_address(t.remote_address, t.rkey));
    store_segment(index, at + 2, wire::mlx5::make_data(t.local_address, t.lkey, t.bytes));
  }

  /// Writes the send entry `index` as a NOP: what a lane does that reserved and then gave up. Its
  /// completion is signalled: no response will retire it, and a queue full of silent NOPs would be
  /// full for ever.
  GNSTOR_HD void write_nop(std::uint64_t index) const {
    if constexpr (blocks == 2) write_pad(index, 0, wire::mlx5::completion_on_error);
    write_pad(index, blocks - 1, wire::mlx5::completion_always);
  }

  /// Announces that the entries [first, first + n) are written. Never waits: it moves the published
  /// index over every reservation that is complete, whoever wrote it.
  /// @par Callers one lane for its group, after `g.sync()`
  /// @par Order releases the entries to whoever rings
  /// @par Bound depth + 1 steps
  GNSTOR_HD void publish(std::uint64_t first, std::uint32_t n) const {
    if constexpr (Sharing::alone) return word(state().published).store(first + n, relaxed);
    std::uint64_t at = first;
    if (word(state().published).compare_exchange(at, first + n, acq_rel)) {
      at = first + n;  // everything before was published: no mark is needed
    } else {
      // Paired with the acquire load of the same word below, by the lane that publishes the entry
      // before it.
      word(reservation(first)).store(first << 16 | n, release);
      // A read-modify-write, not a load: it joins the chain of publishers, so that one of two
      // neighbours sees the other.
      at = word(state().published).fetch_add(0, acq_rel);
    }
    for (bounded steps{std::uint64_t{depth()} + 1}; steps;) {
      const std::uint64_t mark = word(reservation(at)).load(acquire);
      const std::uint64_t count = mark & 0xffff;
      if (count == 0 || mark >> 16 != (at & 0xffffffffffffull)) return;
      if (word(state().published).compare_exchange(at, at + count, acq_rel)) at += count;
    }
  }

  /// Tells the NIC about everything published so far.
  /// @par Callers one lane of a group
  /// @par Order entries before the doorbell record, the record before the register
  GNSTOR_HD void ring() const {
    ringing(state().send_lock, state().published, [this](std::uint64_t index) {
      const std::uint16_t low = block_of(index);
      atomic_ref<std::uint32_t, Scope>(state().doorbell_record.send)
          .store(wire::mlx5::record_value(low), release);
      simt::mmio_store(*doorbell_, wire::mlx5::doorbell_value(low, number_));
    });
  }

  /// Fills the receive ring and gives it to the NIC. Once, before the first request.
  /// @par Callers one lane
  GNSTOR_HD void post_receives() const {
    for (std::uint32_t k = 0; k < 2 * depth(); ++k) {
      const auto address = reinterpret_cast<std::uint64_t>(&response_slot(k));
      const auto segment =
          wire::mlx5::make_data(address, lkey_, sizeof(wire::nvme::completion_entry));
      simt::store16(memory_ + layout().receive_ring + 16ull * k,
                    cuda::std::bit_cast<simt::word16>(segment));
    }
    give_receives();
  }

  /// Takes up to one completion a lane.
  /// @par Callers every lane of `g`, converged
  /// @par Result each lane its own completion, or kind `none`
  /// @par Order acquires what the NIC wrote before the entry: the payload of the request is visible
  /// to the lane that got its response, and to others after `g.sync()`
  /// @par Bound one look
  GNSTOR_HD completion poll(const simt::group& g) const {
    std::uint64_t first = 0;
    if (g.leads()) first = word(state().consumed).load(acquire);
    first = g.broadcast(first);
    // The leader's acquire reaches every lane: without it a lane could take an entry of two laps
    // ago for a new one.
    g.sync();
    const std::uint64_t mine = first + g.thread_rank();
    const wire::mlx5::completion_entry& entry = completion_slot(mine);
    const std::uint32_t tail = half(entry, 60).load(acquire);
    const bool valid = wire::mlx5::tail_valid(tail, mine, completion_mask() + 1);
    completion out;
    if (valid) out = decode(entry, tail);
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
    }
    claimed = g.broadcast(claimed);
    g.sync();
    const bool won = g.thread_rank() < claimed;
    const std::uint32_t responses = g.count(won && out.kind == completion_kind::response);
    if (responses != 0 && g.leads()) count_receives(responses);
    return won ? out : completion{};
  }

  /// Request `index` and all before it have left the send queue.
  /// @par Order releases the slots to `try_reserve`
  GNSTOR_HD void retire(std::uint64_t index) const {
    word(state().retired).fetch_max(index + 1, release);
  }

  /// The command capsule last written at `index`, or its first 16 bytes where the entry holds it:
  /// tells which request a failed entry carried.
  GNSTOR_HD const wire::nvme::submission_entry& capsule(std::uint64_t index) const {
    return capsule_slot(index);
  }

  /// From one life of the queue pair to the next: `restartable_queue_pair`.
  GNSTOR_HD queue_bar bar() const { return restarting().bar(); }
  GNSTOR_HD bool is_written(std::uint64_t end) const {
    return word(state().published).load(acquire) >= end;
  }
  GNSTOR_HD std::uint64_t taken() const { return word(state().consumed).load(acquire); }
  GNSTOR_HD bool restart(std::uint64_t next) const { return restarting().restart(next); }
  GNSTOR_HD bool open(std::uint64_t next) const { return restarting().open(next); }

  /// Send indices published so far.
  GNSTOR_HD std::uint64_t published() const { return word(state().published).load(relaxed); }
  /// Send indices announced so far, never too many: the doorbell record's 16 bits, near
  /// `published`.
  GNSTOR_HD std::uint64_t announced() const {
    const atomic_ref<std::uint32_t, Scope> record(state().doorbell_record.send);
    const std::uint16_t rung = wire::mlx5::record_index(record.load(relaxed));
    const std::uint64_t end = published() * blocks;
    const std::uint64_t known =
        end - static_cast<std::uint64_t>(static_cast<std::int16_t>(end - rung));
    return known / blocks;
  }

 private:
  using shared_word = typename Sharing::template word<std::uint64_t>;
  GNSTOR_HD static shared_word word(std::uint64_t& w) { return shared_word(w); }
  /// Announces `index` by `write`, one lane at a time.
  template <class Write>
  GNSTOR_HD static void ringing(std::uint32_t& lock, std::uint64_t& index, const Write& write) {
    if constexpr (Sharing::alone) {
      write(word(index).load(relaxed));
    } else {
      handover_ring(lock, index, write);
    }
  }
  GNSTOR_HD mlx5_queue_restart<Scope> restarting() const { return {memory_, depth(), blocks}; }
  GNSTOR_HD mlx5_queue_layout layout() const { return mlx5_queue_layout::of(depth(), blocks); }
  GNSTOR_HD mlx5_queue_state& state() const {
    return *reinterpret_cast<mlx5_queue_state*>(memory_);
  }
  GNSTOR_HD std::uint64_t& reservation(std::uint64_t index) const {
    return reinterpret_cast<std::uint64_t*>(memory_ + layout().reservations)[index & mask_];
  }
  GNSTOR_HD wire::nvme::submission_entry& capsule_slot(std::uint64_t index) const {
    return reinterpret_cast<wire::nvme::submission_entry*>(memory_ +
                                                           layout().capsules)[index & mask_];
  }
  GNSTOR_HD wire::nvme::completion_entry& response_slot(std::uint64_t index) const {
    return reinterpret_cast<wire::nvme::completion_entry*>(
        memory_ + layout().responses)[index & (2 * mask_ + 1)];
  }
  GNSTOR_HD wire::mlx5::completion_entry& completion_slot(std::uint64_t index) const {
    return reinterpret_cast<wire::mlx5::completion_entry*>(
        memory_ + layout().completions)[index & completion_mask()];
  }
  GNSTOR_HD std::uint32_t completion_mask() const {
    return mlx5_queue_layout::completion_entries(depth()) - 1;
  }
  /// The aligned 32-bit word at byte `offset` of a completion entry.
  GNSTOR_HD static atomic_ref<std::uint32_t, Scope> half(const wire::mlx5::completion_entry& e,
                                                         int offset) {
    auto* bytes = reinterpret_cast<unsigned char*>(const_cast<wire::mlx5::completion_entry*>(&e));
    return atomic_ref<std::uint32_t, Scope>(*reinterpret_cast<std::uint32_t*>(bytes + offset));
  }

  /// Block `k` of entry `index`, as the NIC counts.
  GNSTOR_HD static std::uint16_t block_of(std::uint64_t index, std::uint32_t k = 0) {
    return static_cast<std::uint16_t>(index * blocks + k);
  }
  GNSTOR_HD wire::mlx5::control_segment control(wire::mlx5::opcode op, std::uint16_t block,
                                                std::uint8_t units, std::uint8_t flags) const {
    return wire::mlx5::make_control(op, block, number_, units, flags);
  }
  template <class Segment>
  GNSTOR_HD void store_segment(std::uint64_t index, int which, const Segment& segment) const {
    static_assert(sizeof(Segment) == 16);
    simt::store16(memory_ + layout().send_ring +
                      (index & mask_) * blocks * sizeof(mlx5_send_entry) + 16 * which,
                  cuda::std::bit_cast<simt::word16>(segment));
  }

  /// Writes block `block` of entry `index` as a NOP.
  GNSTOR_HD void write_pad(std::uint64_t index, std::uint32_t block, std::uint8_t flags) const {
    store_segment(index, static_cast<int>(4 * block),
                  control(wire::mlx5::opcode::nop, block_of(index, block), 1, flags));
  }
  /// Writes entry `index` with the 64 bytes of `capsule` in it, right behind their length.
  GNSTOR_HD void write_inline(std::uint64_t index, const simt::word16 (&capsule)[4]) const {
    constexpr std::uint32_t bytes = sizeof(wire::nvme::submission_entry);
    store_segment(
        index, 0,
        control(wire::mlx5::opcode::send, block_of(index), 6, wire::mlx5::completion_on_error));
    std::uint32_t before = wire::mlx5::inline_segment_word(bytes);
    for (int k = 0; k < 4; ++k) {
      const auto& w = capsule[k].w;
      store_segment(index, 1 + k, simt::word16{{before, w[0], w[1], w[2]}});
      before = w[3];
    }
    store_segment(index, 5, simt::word16{{before, 0, 0, 0}});
  }

  GNSTOR_HD completion decode(const wire::mlx5::completion_entry& entry, std::uint32_t tail) const {
    completion out;
    const std::uint16_t counter = wire::mlx5::tail_counter(tail);
    switch (wire::mlx5::tail_opcode(tail)) {
      case wire::mlx5::cqe_opcode::responder_send: {
        out.kind = completion_kind::response;
        struct halves {
          std::uint64_t word[2];
        };
        // The entry says where its message lies: in itself, if the queue pair was made so.
        auto* from =
            wire::mlx5::tail_scattered(tail)
                ? reinterpret_cast<std::uint64_t*>(const_cast<std::uint32_t*>(entry.scatter))
                : reinterpret_cast<std::uint64_t*>(&response_slot(counter));
        const halves raw{{atomic_ref<std::uint64_t, Scope>(from[0]).load(relaxed),
                          atomic_ref<std::uint64_t, Scope>(from[1]).load(relaxed)}};
        out.response = cuda::std::bit_cast<wire::nvme::completion_entry>(raw);
        return out;
      }
      case wire::mlx5::cqe_opcode::requester:
        out.kind = completion_kind::sent;
        out.index = full_index(counter);
        return out;
      case wire::mlx5::cqe_opcode::requester_error:
        out.kind = completion_kind::failed;
        out.index = full_index(counter);
        break;
      default: out.kind = completion_kind::broken; break;
    }
    const std::uint32_t why = half(entry, 52).load(relaxed);
    const auto syndrome = wire::mlx5::error_syndrome(why);
    const bool flush = syndrome == wire::mlx5::syndrome::flushed;
    out.outcome =
        status::make(flush ? status_code::flushed : status_code::transport_error, reporter::nic);
    out.outcome.syndrome = static_cast<std::uint8_t>(syndrome);
    out.outcome.vendor_syndrome = wire::mlx5::error_vendor_syndrome(why);
    return out;
  }

  /// The send index with a block whose low 16 bits are `counter`: the latest one handed out.
  GNSTOR_HD std::uint64_t full_index(std::uint16_t counter) const {
    const std::uint64_t end = word(state().reserved).load(relaxed) * blocks;
    return (end - 1 - static_cast<std::uint16_t>(end - 1 - counter)) / blocks;
  }

  /// `n` responses have been copied out, so their receives are free. Receives go back by the half
  /// ring: one record write for `depth` responses, and at rest never fewer than `depth` posted.
  /// While the lane that gives them back is held up, the NIC may find none: it then waits (receiver
  /// not ready).
  GNSTOR_HD void count_receives(std::uint32_t n) const {
    const std::uint64_t taken = word(state().received).fetch_add(n, acq_rel) + n;
    if ((taken & mask_) < n) {
      word(state().reposted).fetch_max(taken & ~std::uint64_t{mask_}, acq_rel);
      give_receives();
    }
  }
  GNSTOR_HD void give_receives() const {
    ringing(state().receive_lock, state().reposted, [this](std::uint64_t reposted) {
      const auto low = static_cast<std::uint16_t>(reposted + 2ull * depth());
      atomic_ref<std::uint32_t, Scope>(state().doorbell_record.receive)
          .store(wire::mlx5::record_value(low), release);
    });
  }

  unsigned char* memory_;
  std::uint64_t* doorbell_;
  std::uint32_t mask_;
  std::uint32_t number_;
  std::uint32_t lkey_;
};

static_assert(restartable_queue_pair<mlx5_queue_pair<>>);
static_assert(std::is_trivially_copyable_v<mlx5_queue_pair<>> && sizeof(mlx5_queue_pair<>) == 32);

}  // namespace gnstor::inline v0

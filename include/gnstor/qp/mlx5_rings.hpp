#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/qp/capsule/by_pointer.hpp>
#include <gnstor/qp/completion.hpp>
#include <gnstor/qp/mlx5_queue_memory.hpp>
#include <gnstor/qp/mlx5_queue_restart.hpp>
#include <gnstor/qp/one_sided.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/copy.hpp>
#include <gnstor/simt/mmio.hpp>
#include <gnstor/simt/release_stores.hpp>
#include <gnstor/wire/endian.hpp>

#include <cuda/std/bit>

namespace gnstor::detail {

/// What the NIC sees of an mlx5 queue pair: entries, completions, records and the doorbell, each
/// written or read where its index says. Who hands out the indices is not its business.
///
/// Words that the NIC reads or writes are loads and stores of `Scope`, or of device scope where the
/// NIC is emulated by the very device that uses the rings: a release is four times as fast there.
template <thread_scope Scope, capsule_placement Capsule>
class mlx5_rings {
 public:
  /// Basic blocks of a send entry. The NIC counts blocks, everybody else entries.
  static constexpr std::uint32_t blocks = Capsule::blocks;

  /// As `mlx5_queue_pair`.
  GNSTOR_HD mlx5_rings(unsigned char* memory, std::uint32_t depth, std::uint32_t number,
                       std::uint32_t lkey, std::uint64_t* doorbell, bool same_device)
      : memory_(memory),
        doorbell_(doorbell),
        mask_(depth - 1),
        number_(number),
        lkey_(lkey),
        same_device_(same_device) {
    if (doorbell_ == nullptr) doorbell_ = &state().doorbell;
  }

  GNSTOR_HD unsigned char* memory() const { return memory_; }
  GNSTOR_HD std::uint64_t* doorbell() const { return doorbell_; }
  GNSTOR_HD std::uint32_t depth() const { return mask_ + 1; }
  GNSTOR_HD std::uint32_t number() const { return number_; }
  GNSTOR_HD std::uint32_t lkey() const { return lkey_; }
  GNSTOR_HD bool same_device() const { return same_device_; }
  GNSTOR_HD std::uint32_t completion_entries() const {
    return mlx5_queue_layout::completion_entries(depth());
  }
  GNSTOR_HD std::uint32_t receive_entries() const {
    return mlx5_queue_layout::receive_entries(depth());
  }
  /// A response takes a receive, which is given back when it was read; other completions do not.
  static constexpr bool every_completion = false;
  GNSTOR_HD static constexpr std::uint32_t receives_kept(std::uint32_t depth) {
    return mlx5_queue_layout::receives_kept(depth);
  }
  GNSTOR_HD mlx5_queue_restart<Scope> restarting() const { return {memory_, depth(), blocks}; }
  GNSTOR_HD mlx5_queue_state& state() const {
    return *reinterpret_cast<mlx5_queue_state*>(memory_);
  }
  GNSTOR_HD std::uint64_t& reservation(std::uint64_t index) const {
    return reinterpret_cast<std::uint64_t*>(memory_ + layout().reservations)[index & mask_];
  }

  /// Writes the send entry `index` for a 64-byte command capsule.
  /// @par Callers the lane that owns the reserved `index`
  GNSTOR_HD void write_send(std::uint64_t index,
                            const wire::nvme::submission_entry& capsule) const {
    struct parts {
      simt::word16 part[4];
    };
    const auto bytes = cuda::std::bit_cast<parts>(capsule);
    if constexpr (blocks == 2) {
      write_inline(index, bytes.part);
    } else {
      wire::nvme::submission_entry& slot = capsule_slot(index);
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
    static_assert(
        blocks == 1,
        "in an entry of two blocks a transfer would leave one, which takes a WQE and so a "
        "completion more: the ring has none for it");
    const auto op = t.write ? wire::mlx5::opcode::rdma_write : wire::mlx5::opcode::rdma_read;
    store_segment(index, 0, control(op, block_of(index), 3, wire::mlx5::completion_always));
    store_segment(index, 1, wire::mlx5::make_remote_address(t.remote_address, t.rkey));
    store_segment(index, 2, wire::mlx5::make_data(t.local_address, t.lkey, t.bytes));
  }

  /// Writes the send entry `index` as a NOP: what a lane does that reserved and then gave up. Its
  /// completion is signalled: no response will retire it, and a queue full of silent NOPs would be
  /// full for ever. It is as long as any entry of its queue (DPDK's mlx5 crypto driver fills up its
  /// sets of WQEs so).
  GNSTOR_HD void write_nop(std::uint64_t index) const {
    constexpr std::uint8_t units = blocks == 1 ? 1 : 4 * blocks;
    store_segment(
        index, 0,
        control(wire::mlx5::opcode::nop, block_of(index), units, wire::mlx5::completion_always));
  }

  /// Nothing: a record is written whether it is new or not.
  struct rung_indices {};
  GNSTOR_HD rung_indices last_rung() const { return {}; }

  /// Tells the NIC of all entries before `index`, and gives it the receives of the first `received`
  /// responses again.
  /// @par Callers one lane at a time, never an index before the last one; what lay in those
  /// receives has been read
  /// @par Order entries and receives before the doorbell record, the records before the register;
  /// where the NIC is emulated by this device, entries before both
  GNSTOR_HD void announce(std::uint64_t index, std::uint64_t received) const {
    tell(index, [&](const auto& words) {
      words.store(state().doorbell_record.receive, receives_after(received));
    });
  }
  GNSTOR_HD void announce(std::uint64_t index, std::uint64_t received, rung_indices) const {
    announce(index, received);
  }
  /// Tells the NIC of all entries before `index` alone.
  GNSTOR_HD void announce(std::uint64_t index) const {
    tell(index, [](const auto&) {});
  }
  /// How many of `end` entries were announced, at most 2^15 fewer: the record has 16 bits.
  GNSTOR_HD std::uint64_t announced(std::uint64_t end) const {
    const atomic_ref<std::uint32_t, Scope> record(state().doorbell_record.send);
    const std::uint16_t rung = wire::mlx5::record_index(record.load(relaxed));
    const std::uint64_t last = end * blocks;
    return (last - static_cast<std::uint64_t>(static_cast<std::int16_t>(last - rung))) / blocks;
  }

  /// Fills the receive ring.
  GNSTOR_HD void write_receives() const {
    for (std::uint32_t k = 0; k < receive_entries(); ++k) {
      const auto address = reinterpret_cast<std::uint64_t>(&response_slot(k));
      const auto segment =
          wire::mlx5::make_data(address, lkey_, sizeof(wire::nvme::completion_entry));
      simt::store16(memory_ + layout().receive_ring + 16ull * k,
                    cuda::std::bit_cast<simt::word16>(segment));
    }
  }
  /// Gives the NIC the receives of the first `received` responses again, and tells of nothing else.
  /// @par Callers as `announce`
  GNSTOR_HD void give_receives(std::uint64_t received) const {
    hand_over(state().doorbell_record.receive, receives_after(received));
  }
  /// How many receives were given back when about `received` were taken.
  GNSTOR_HD std::uint64_t given(std::uint64_t received) const {
    const atomic_ref<std::uint32_t, Scope> record(state().doorbell_record.receive);
    const std::uint16_t low = wire::mlx5::record_index(record.load(relaxed));
    return received - static_cast<std::uint64_t>(
                          static_cast<std::int16_t>(received + receive_entries() - low));
  }

  /// The last word of completion entry `at`; the NIC writes it last.
  /// @par Order acquires the entry, and the payload of what it answers
  GNSTOR_HD std::uint32_t tail(std::uint64_t at) const {
    return half(completion_slot(at), 60).load(acquire);
  }
  /// True if a tail read at `at` is of this lap.
  GNSTOR_HD bool is_valid(std::uint32_t tail, std::uint64_t at) const {
    return wire::mlx5::tail_valid(tail, at, completion_entries());
  }
  /// What completion entry `at`, whose `tail` is valid, says.
  /// @param reserved `reserved()` send indices are handed out: tells which one its 16 bits mean
  template <class Reserved>
  GNSTOR_HD completion decode(std::uint64_t at, std::uint32_t tail,
                              const Reserved& reserved) const {
    const wire::mlx5::completion_entry& entry = completion_slot(at);
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
        out.index = full_index(counter, reserved());
        return out;
      case wire::mlx5::cqe_opcode::requester_error:
        out.kind = completion_kind::failed;
        out.index = full_index(counter, reserved());
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

  /// The id of the command last written at `index`: tells which request a failed entry carried.
  GNSTOR_HD command_id sent_id(std::uint64_t index) const {
    if constexpr (blocks == 1) return command_id(capsule_slot(index).command_id);
    // Behind the control segment and the length; NOPs and transfers leave it as it is.
    const auto* first = reinterpret_cast<const std::uint16_t*>(
        memory_ + layout().send_ring + (index & mask_) * blocks * sizeof(mlx5_send_entry) + 20);
    return command_id(first[1]);
  }

 private:
  /// @param first `first(words)` stores what comes before the doorbell, with the same fence
  template <class First>
  GNSTOR_HD void tell(std::uint64_t index, const First& first) const {
    const std::uint16_t low = block_of(index);
    const std::uint64_t bell = wire::mlx5::doorbell_value(low, number_);
    std::uint32_t& record = state().doorbell_record.send;
    if (same_device_) {
      // It believes the register's index as well as the record's, in whatever order they come: one
      // fence serves all. Paired with the acquire loads of any.
      const simt::release_stores<thread_scope_device> words;
      first(words);
      words.store(*doorbell_, bell);
      words.store(record, wire::mlx5::record_value(low));
    } else {
      // Paired with the NIC's reads.
      const simt::release_stores<Scope> words;
      first(words);
      words.store(record, wire::mlx5::record_value(low));
      simt::mmio_store(*doorbell_, bell);
    }
  }
  /// The receive half of the doorbell record when `received` of them came back.
  GNSTOR_HD std::uint32_t receives_after(std::uint64_t received) const {
    return wire::mlx5::record_value(static_cast<std::uint16_t>(received + receive_entries()));
  }
  /// Stores a word that the NIC acquires.
  template <class T>
  GNSTOR_HD void hand_over(T& word, T value) const {
    if (same_device_) {
      device_word<T>(word).store(value, release);
    } else {
      atomic_ref<T, Scope>(word).store(value, release);
    }
  }
  GNSTOR_HD mlx5_queue_layout layout() const { return mlx5_queue_layout::of(depth(), blocks); }
  GNSTOR_HD wire::nvme::submission_entry& capsule_slot(std::uint64_t index) const {
    return reinterpret_cast<wire::nvme::submission_entry*>(memory_ +
                                                           layout().capsules)[index & mask_];
  }
  GNSTOR_HD wire::nvme::completion_entry& response_slot(std::uint64_t index) const {
    return reinterpret_cast<wire::nvme::completion_entry*>(
        memory_ + layout().responses)[index & (receive_entries() - 1)];
  }
  GNSTOR_HD wire::mlx5::completion_entry& completion_slot(std::uint64_t index) const {
    return reinterpret_cast<wire::mlx5::completion_entry*>(
        memory_ + layout().completions)[index & (completion_entries() - 1)];
  }
  /// The aligned 32-bit word at byte `offset` of a completion entry.
  GNSTOR_HD static atomic_ref<std::uint32_t, Scope> half(const wire::mlx5::completion_entry& e,
                                                         int offset) {
    auto* bytes = reinterpret_cast<unsigned char*>(const_cast<wire::mlx5::completion_entry*>(&e));
    return atomic_ref<std::uint32_t, Scope>(*reinterpret_cast<std::uint32_t*>(bytes + offset));
  }

  /// The first block of entry `index`, as the NIC counts.
  GNSTOR_HD static std::uint16_t block_of(std::uint64_t index) {
    return static_cast<std::uint16_t>(index * blocks);
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

  /// The send index with a block whose low 16 bits are `counter`: the latest one handed out.
  GNSTOR_HD std::uint64_t full_index(std::uint16_t counter, std::uint64_t reserved) const {
    const std::uint64_t end = reserved * blocks;
    return (end - 1 - static_cast<std::uint16_t>(end - 1 - counter)) / blocks;
  }

  unsigned char* memory_;
  std::uint64_t* doorbell_;
  std::uint32_t mask_;
  std::uint32_t number_;
  std::uint32_t lkey_;
  bool same_device_;
};

}  // namespace gnstor::detail

#pragma once

#include <gnstor/simt/copy.hpp>
#include <gnstor/wire/mlx5/cqe.hpp>
#include <gnstor/wire/mlx5/doorbell.hpp>
#include <gnstor/wire/mlx5/segment.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>
#include <hca/queue_context.hpp>
#include <hca/region_cache.hpp>

#include <cuda/std/bit>

namespace gnstor::fw {

/// One send queue entry as the NIC decodes it.
struct decoded_request {
  wire::mlx5::opcode opcode = wire::mlx5::opcode::nop;
  std::uint32_t blocks = 1;  ///< basic blocks it occupies
  bool signalled = false;
  wire::mlx5::syndrome fault = wire::mlx5::syndrome::none;
  bool known = false;    ///< position, number and size are right: `blocks` can be believed
  bool inlined = false;  ///< the capsule lay in the entry, and is `inside`
  std::uint64_t index = 0;
  wire::mlx5::data_segment local{};
  wire::mlx5::remote_address_segment remote{};
  wire::nvme::submission_entry inside;
};

/// The NIC's side of one queue pair's memory: it reads rings and doorbells and writes completions,
/// byte for byte as `reference/network.md` and rdma-core describe them. It decides nothing;
/// `queue_engine` does.
class queue_reader {
 public:
  /// @param at copied: the engine of a busy queue does not ask memory for it again and again
  GNSTOR_HD queue_reader(const queue_attributes& at, region_table regions)
      : at_(at), regions_(regions) {}

  GNSTOR_HD std::uint32_t send_entries() const { return at_.send_entries; }
  /// True if `key` opens [address, address + bytes) for `access`.
  GNSTOR_HD bool opens(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                       std::uint32_t access) {
    return regions_.allows(key, address, bytes, access, at_.domain);
  }
  /// Keys were registered or withdrawn.
  GNSTOR_HD void forget_keys() { regions_.forget(); }

  /// The doorbell register's present value. @par Order acquires the doorbell record before it
  GNSTOR_HD std::uint64_t doorbell() const {
    return system_word<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at_.doorbell))
        .load(acquire);
  }
  /// The producer index of the send queue, 16 bits. @par Order acquires the entries before it
  GNSTOR_HD std::uint16_t send_tail() const {
    return wire::mlx5::record_index(record(1).load(acquire));
  }
  /// Basic blocks posted from `head` on, 16 bits. Where the queue's lanes run on this device, the
  /// index in the doorbell counts as well: there may be more, but these need no other look.
  /// @param bell `doorbell()`'s last value
  /// @par Order acquires those entries
  GNSTOR_HD std::uint16_t sends_after(std::uint64_t head, std::uint64_t bell) const {
    if (at_.same_device == 0) return static_cast<std::uint16_t>(send_tail() - head);
    const auto announced = static_cast<std::uint16_t>(wire::mlx5::doorbell_index(bell) - head);
    if (announced != 0 && announced <= at_.send_entries) return announced;
    // The record may come behind the doorbell.
    const auto posted = static_cast<std::uint16_t>(send_tail() - head);
    return posted < 0x8000 ? posted : 0;
  }
  /// The producer index of the receive queue, 16 bits.
  GNSTOR_HD std::uint16_t receive_tail() const {
    return wire::mlx5::record_index(record(0).load(acquire));
  }

  /// Decodes and checks the send entry at `index`: position, queue pair number, size, local key.
  /// @param wide it is thought to be of two blocks: all of them are asked for at once
  GNSTOR_HD decoded_request request(std::uint64_t index, bool wide = false) {
    decoded_request r;
    r.index = index;
    const unsigned char* entry = block(index);
    const auto control = cuda::std::bit_cast<wire::mlx5::control_segment>(simt::load16(entry));
    const simt::word16 second = simt::load16(entry + 16);  // whatever it is: asked for at once
    if (wide) r.inside = capsule_behind(index, second);
    r.opcode = control.opcode();
    r.blocks = control.wqebb_count();
    r.signalled = control.signaled();
    const bool one_sided =
        r.opcode == wire::mlx5::opcode::rdma_write || r.opcode == wire::mlx5::opcode::rdma_read;
    r.inlined = r.opcode == wire::mlx5::opcode::send && control.ds() == inline_units;
    const bool idle = r.opcode == wire::mlx5::opcode::nop;  // as long as it says
    const std::uint32_t units = one_sided ? 3 : (r.inlined ? inline_units : 2);
    const bool known = one_sided || r.opcode == wire::mlx5::opcode::send;
    const bool sized = idle ? control.ds() - 1u < most_idle_units : known && control.ds() == units;
    if (control.index() != static_cast<std::uint16_t>(index) || control.qpn() != at_.number ||
        !sized) {
      r.fault = wire::mlx5::syndrome::local_queue_pair_error;
      return r;
    }
    r.known = true;
    if (idle) return r;
    if (r.inlined) {
      constexpr std::uint32_t capsule_bytes = sizeof(wire::nvme::submission_entry);
      if (second.w[0] != wire::mlx5::inline_segment_word(capsule_bytes))
        r.fault = wire::mlx5::syndrome::local_length_error;
      if (!wide) r.inside = capsule_behind(index, second);
      return r;
    }
    if (one_sided) r.remote = cuda::std::bit_cast<wire::mlx5::remote_address_segment>(second);
    r.local = cuda::std::bit_cast<wire::mlx5::data_segment>(one_sided ? simt::load16(entry + 32)
                                                                      : second);
    const auto access = r.opcode == wire::mlx5::opcode::rdma_read ? std::uint32_t{local_write} : 0u;
    if (!regions_.allows(r.local.lkey(), r.local.address(), r.local.bytes(), access, at_.domain)) {
      r.fault = wire::mlx5::syndrome::local_protection_error;
    } else if (r.opcode == wire::mlx5::opcode::send &&
               r.local.bytes() != sizeof(wire::nvme::submission_entry)) {
      r.fault = wire::mlx5::syndrome::local_length_error;
    }
    return r;
  }

  /// The command capsule that a checked SEND points to, or holds.
  GNSTOR_HD wire::nvme::submission_entry capsule(const decoded_request& send) const {
    if (send.inlined) return send.inside;
    parts bytes;
    for (int k = 0; k < 4; ++k) {
      bytes.part[k] =
          simt::load16(reinterpret_cast<const unsigned char*>(send.local.address()) + 16 * k);
    }
    return cuda::std::bit_cast<wire::nvme::submission_entry>(bytes);
  }

  /// The receive entry `index`, as the peer posted it.
  GNSTOR_HD wire::mlx5::data_segment receive(std::uint64_t index) const {
    const auto* entry = reinterpret_cast<const unsigned char*>(at_.receive_ring) +
                        (index & (at_.receive_entries - 1)) * 16;
    return cuda::std::bit_cast<wire::mlx5::data_segment>(simt::load16(entry));
  }

  /// Answers with a response capsule: into the receive `index` or, where the queue pair scatters
  /// responses, into the completion entry `at`, which makes it valid last. False, and nothing is
  /// written, if that receive's key or length does not hold.
  /// @par Order as `complete`
  GNSTOR_HD bool respond(std::uint64_t at, std::uint64_t index,
                         const wire::nvme::completion_entry& response) {
    return respond(at, index, receive(index), response);
  }
  /// The same with the receive entry at hand.
  GNSTOR_HD bool respond(std::uint64_t at, std::uint64_t index,
                         const wire::mlx5::data_segment& segment,
                         const wire::nvme::completion_entry& response) {
    if (segment.bytes() < sizeof response ||
        !regions_.allows(segment.lkey(), segment.address(), sizeof response, local_write,
                         at_.domain)) {
      return false;
    }
    struct halves {
      std::uint64_t word[2];
    };
    const auto raw = cuda::std::bit_cast<halves>(response);
    auto* to = reinterpret_cast<std::uint64_t*>(at_.scatter_responses != 0
                                                    ? reinterpret_cast<std::uint64_t>(&entry_at(at))
                                                    : segment.address());
    system_word<std::uint64_t>(to[0]).store(raw.word[0], relaxed);
    system_word<std::uint64_t>(to[1]).store(raw.word[1], relaxed);
    complete(at, wire::mlx5::cqe_opcode::responder_send, index, sizeof response);
    return true;
  }

  /// Writes the completion entry at `at`: the words first, the ownership word last.
  /// @par Order releases everything the engine saw before, the payload included
  GNSTOR_HD void complete(std::uint64_t at, wire::mlx5::cqe_opcode kind, std::uint64_t wqe_index,
                          std::uint32_t bytes,
                          wire::mlx5::syndrome fault = wire::mlx5::syndrome::none,
                          wire::mlx5::opcode sent = wire::mlx5::opcode::nop) const {
    wire::mlx5::completion_entry& e = entry_at(at);
    using word = system_word<std::uint32_t>;
    word(e.byte_count_be).store(wire::be32(bytes), relaxed);
    word(e.error_word).store(wire::mlx5::pack_error(0, fault), relaxed);
    word(e.sop_drop_qpn)
        .store(wire::mlx5::pack_sop_qpn(static_cast<std::uint8_t>(sent), at_.number), relaxed);
    const bool scattered = at_.scatter_responses != 0 && bytes <= wire::mlx5::scatter_bytes &&
                           kind == wire::mlx5::cqe_opcode::responder_send;
    const bool lap = wire::mlx5::lap_owner(at, at_.completion_entries);
    const std::uint32_t tail =
        wire::mlx5::pack_tail(static_cast<std::uint16_t>(wqe_index), kind, lap, scattered);
    if (at_.same_device != 0) {
      device_word<std::uint32_t>(e.tail).store(tail, release);
    } else {
      word(e.tail).store(tail, release);
    }
  }

 private:
  /// 16-byte units of a SEND with its capsule inside: control, length and 64 bytes, padded.
  static constexpr std::uint32_t inline_units = 6;
  static constexpr std::uint32_t most_idle_units = 8;  ///< of a NOP: two blocks

  struct parts {
    simt::word16 part[4];
  };
  /// The 64 bytes behind the control segment and the length of the entry at `index`, which may go
  /// on at the ring's start.
  /// @param second the entry's second segment
  GNSTOR_HD wire::nvme::submission_entry capsule_behind(std::uint64_t index,
                                                        const simt::word16& second) const {
    parts bytes;
    simt::word16 here = second;
    for (std::uint32_t k = 0; k < 4; ++k) {
      const std::uint32_t at = 32 + 16 * k;
      const simt::word16 next = simt::load16(block(index + at / 64) + at % 64);
      bytes.part[k] = simt::word16{{here.w[1], here.w[2], here.w[3], next.w[0]}};
      here = next;
    }
    return cuda::std::bit_cast<wire::nvme::submission_entry>(bytes);
  }
  GNSTOR_HD const unsigned char* block(std::uint64_t index) const {
    return reinterpret_cast<const unsigned char*>(at_.send_ring) +
           (index & (at_.send_entries - 1)) * 64;
  }
  GNSTOR_HD wire::mlx5::completion_entry& entry_at(std::uint64_t at) const {
    return reinterpret_cast<wire::mlx5::completion_entry*>(
        at_.completion_ring)[at & (at_.completion_entries - 1)];
  }
  GNSTOR_HD system_word<std::uint32_t> record(int which) const {
    return system_word<std::uint32_t>(reinterpret_cast<std::uint32_t*>(at_.doorbell_record)[which]);
  }

  queue_attributes at_;
  region_cache regions_;
};

}  // namespace gnstor::fw

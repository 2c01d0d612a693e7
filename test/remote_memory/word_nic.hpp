#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/simt/lane.hpp>
#include <hca/queue_reader.hpp>

namespace gnstor::test {

/// One queue pair as the model NIC serves it.
struct word_queue {
  fw::queue_attributes at;
  std::uint64_t next_index = 0;     ///< of the first entry
  std::uint64_t hold_from = ~0ull;  ///< entries from here on stay unfinished until let go
  std::uint64_t break_at = ~0ull;   ///< this entry fails with `why`, those behind it flush
  wire::mlx5::syndrome why = wire::mlx5::syndrome::remote_access_error;
  std::uint32_t let_go = 0;       ///< atomic: what is held goes on
  std::uint32_t served = 0;       ///< entries that moved their bytes
  std::uint32_t bad_entries = 0;  ///< entries that were not complete
  std::uint32_t overruns = 0;     ///< doorbells beyond the ring
};

/// The model that memory channels are held against: a NIC that carries out one entry after another
/// and moves words by atomic accesses without an order, so that the weak mode sees who reads them
/// too early. One lane per queue.
struct word_nic {
  struct shared {};

  word_queue* queues = nullptr;
  fw::region_table regions{nullptr, 0};
  std::uint32_t* stop = nullptr;
  std::uint32_t seed = 0;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    word_queue& q = queues[lane.global_thread()];
    run r{q, fw::queue_reader(q.at, regions), q.next_index};
    r.draw = mix64(seed + lane.global_thread());
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      if (system_word<std::uint32_t>(*stop).load(acquire) != 0) break;
      if (!r.serve()) lane.pause();
    }
  }

 private:
  struct run {
    word_queue& queue;
    fw::queue_reader reader;
    std::uint64_t head;
    std::uint64_t completion = 0;
    std::uint64_t bell = 0;
    std::uint64_t draw = 0;
    bool broken = false;

    /// Carries out the next entry, or nothing, as the draw wants.
    GNSTOR_HD bool serve() {
      bell = reader.doorbell();
      const std::uint16_t waiting = reader.sends_after(head, bell);
      if (waiting == 0) return false;
      if (waiting > reader.send_entries()) {
        ++queue.overruns;
        return false;
      }
      draw = mix64(draw + 1);
      if (draw % 4 == 0) return false;
      if (head >= queue.hold_from && system_word<std::uint32_t>(queue.let_go).load(acquire) == 0)
        return false;
      take(reader.request(head));
      ++head;
      return true;
    }
    GNSTOR_HD void take(const fw::decoded_request& r) {
      if (broken) return fail(wire::mlx5::syndrome::flushed);
      if (r.fault != wire::mlx5::syndrome::none) {
        ++queue.bad_entries;
        return fail(r.fault);
      }
      if (head == queue.break_at) return fail(queue.why);
      if (r.opcode == wire::mlx5::opcode::rdma_write) {
        move(r.remote.address(), r.local.address(), r.local.bytes());
      } else if (r.opcode == wire::mlx5::opcode::rdma_read) {
        move(r.local.address(), r.remote.address(), r.local.bytes());
      }
      if (r.signalled)
        reader.complete(completion++, wire::mlx5::cqe_opcode::requester, head, r.local.bytes());
    }
    GNSTOR_HD void fail(wire::mlx5::syndrome why) {
      broken = true;
      reader.complete(completion++, wire::mlx5::cqe_opcode::requester_error, head, 0, why);
    }
    GNSTOR_HD void move(std::uint64_t to, std::uint64_t from, std::uint32_t bytes) {
      ++queue.served;
      for (std::uint32_t at = 0; at < bytes; at += 8) {
        const system_word<std::uint64_t> source(*reinterpret_cast<std::uint64_t*>(from + at));
        system_word<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(to + at))
            .store(source.load(relaxed), relaxed);
      }
    }
  };
};

}  // namespace gnstor::test

#pragma once
/// What every lane of a queue pair's test runs, on the host runtime.

#include "letter.hpp"
#include <gnstor/core/bounded.hpp>
#include <gnstor/qp/queue_pair.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

/// What the lanes know of one request. Shared by all lanes of a run; zero at the start.
struct parcel {
  std::uint64_t index = 0;      ///< send queue index
  std::uint64_t delivered = 0;  ///< completions that named this request
  std::uint64_t there = 0;      ///< what RDMA WRITE wrote, or READ reads
  std::uint64_t here = 0;       ///< the other end of it
};

/// What went wrong. Zero at the start.
struct traffic_record {
  std::uint32_t unknown = 0;      ///< completions of no request
  std::uint32_t wrong_kind = 0;   ///< failures that nobody caused
  std::uint32_t bad_replies = 0;  ///< answers whose data was not visible
  std::uint32_t stuck = 0;        ///< lanes that gave up
};

/// Lanes send requests of all kinds through one queue pair and take each other's completions.
template <queue_pair QP>
struct traffic {
  struct shared {};

  QP queue;
  std::uint32_t rounds = 4;          ///< requests per lane
  std::uint32_t one_sided_of_8 = 0;  ///< how many of eight are RDMA READs and WRITEs
  std::uint32_t nops_of_8 = 0;       ///< how many of eight are given up
  std::uint32_t seed = 0;
  std::uint32_t key = 0;
  letter* letters = nullptr;        ///< [lanes * rounds]
  parcel* parcels = nullptr;        ///< [lanes * rounds]
  std::uint64_t* owners = nullptr;  ///< [lanes * rounds]: request + 1 by send queue index
  std::uint64_t first_index = 0;
  traffic_record* record = nullptr;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    std::uint32_t draw = (lane.global_thread() + 1 + seed * 0x10001u) * 2654435761u;
    const std::uint32_t total = lane.grid_threads() * rounds;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      draw = draw * 1664525u + 1013904223u;
      const std::uint32_t id = lane.global_thread() * rounds + round;
      const std::uint32_t kind = draw >> 29;
      letters[id].ask(id);
      parcels[id].here = kind % 2 != 0 ? letter::question(id) : 0;
      parcels[id].there = kind % 2 != 0 ? 0 : letter::question(id);
      if (!send(id, kind, total)) return count(record->stuck);
      if (!await(id, total)) return count(record->stuck);
      check(id, kind);
    }
  }

 private:
  GNSTOR_HD static void count(std::uint32_t& counter) {
    device_word<std::uint32_t>(counter).fetch_add(1, relaxed);
  }
  GNSTOR_HD bool is_nop(std::uint32_t kind) const { return kind < nops_of_8; }
  GNSTOR_HD bool is_one_sided(std::uint32_t kind) const {
    return !is_nop(kind) && kind < nops_of_8 + one_sided_of_8;
  }

  GNSTOR_HD bool send(std::uint32_t id, std::uint32_t kind, std::uint32_t total) const {
    for (bounded tries{10'000'000}; tries;) {
      const simt::group g = simt::group::active();
      result<std::uint64_t> first = status::make(status_code::would_block, reporter::queue_pair);
      if (g.leads()) first = queue.try_reserve(g.size());
      const bool granted = g.broadcast(static_cast<std::uint32_t>(first.status.ok())) != 0;
      const std::uint64_t index = g.broadcast(first.value) + g.thread_rank();
      g.sync();
      if (!granted) {
        take(total);
        continue;
      }
      device_word<std::uint64_t>(parcels[id].index).store(index, relaxed);
      device_word<std::uint64_t>(owners[index - first_index]).store(id + 1, relaxed);
      write(id, kind, index);
      g.sync();
      if (g.leads()) {
        queue.publish(index, g.size());
        queue.ring();
      }
      return true;
    }
    return false;
  }

  GNSTOR_HD void write(std::uint32_t id, std::uint32_t kind, std::uint64_t index) const {
    if (is_nop(kind)) return queue.write_nop(index);
    if constexpr (one_sided_queue_pair<QP>) {
      if (is_one_sided(kind)) return transfer(id, kind, index);
    }
    wire::nvme::submission_entry capsule{};
    capsule.opcode = 0xc0;
    capsule.command_id = static_cast<std::uint16_t>(id);
    capsule.cdw10 = id;
    queue.write_send(index, capsule);
  }
  GNSTOR_HD void transfer(std::uint32_t id, std::uint32_t kind, std::uint64_t index) const {
    one_sided t;
    t.local_address = reinterpret_cast<std::uint64_t>(&parcels[id].here);
    t.remote_address = reinterpret_cast<std::uint64_t>(&parcels[id].there);
    t.lkey = t.rkey = key;
    t.bytes = sizeof(std::uint64_t);
    t.write = kind % 2 != 0;
    queue.write_one_sided(index, t);
  }

  /// Takes completions until request `id` is done.
  GNSTOR_HD bool await(std::uint32_t id, std::uint32_t total) const {
    for (bounded tries{10'000'000}; tries;) {
      if (device_word<std::uint64_t>(parcels[id].delivered).load(acquire) != 0) return true;
      take(total);
    }
    return false;
  }

  GNSTOR_HD void take(std::uint32_t total) const {
    const completion c = queue.poll(simt::group::active());
    std::uint64_t id = 0;
    switch (c.kind) {
      case completion_kind::none: return simt::pause();
      case completion_kind::response: id = c.response.dw1; break;
      case completion_kind::sent:
        if (c.index - first_index >= total) return count(record->unknown);
        id = device_word<std::uint64_t>(owners[c.index - first_index]).load(relaxed) - 1;
        break;
      default: return count(record->wrong_kind);
    }
    if (id >= total) return count(record->unknown);
    const std::uint64_t index = device_word<std::uint64_t>(parcels[id].index).load(relaxed);
    if (c.kind == completion_kind::sent && index != c.index) count(record->unknown);
    queue.retire(index);
    device_word<std::uint64_t>(parcels[id].delivered).fetch_add(1, acq_rel);
  }

  GNSTOR_HD void check(std::uint32_t id, std::uint32_t kind) const {
    bool right = true;
    if (is_one_sided(kind)) {
      right = parcels[id].here == letter::question(id) && parcels[id].there == letter::question(id);
    } else if (!is_nop(kind)) {
      right = letters[id].holds_reply(id);
    }
    if (!right) count(record->bad_replies);
  }
};

}  // namespace gnstor::test

#pragma once

#include "letter.hpp"
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/wire/nvme/opcode.hpp>
#include <hca/queue_reader.hpp>

namespace gnstor::test {

/// What a request wants of the scripted peer: its dword 12.
enum class ask : std::uint32_t {
  answer,         ///< with success
  refuse,         ///< with the NVMe status in dword 13, or in dword 2
  twice,          ///< with success, and a duplicate of the answer
  never,          ///< no answer
  hold,           ///< no answer before another request lets it go
  let_go,         ///< first answer what is held, then this
  break_send,     ///< the NIC fails this request: syndrome in dword 13
  break_receive,  ///< the NIC fails a receive instead of the answer: syndrome in dword 13
};

/// The namespace that answers with success what another refuses or leaves unanswered.
inline constexpr std::uint32_t healthy_namespace = 2;

/// What a scripted peer saw on one queue. Zero at the start.
struct peer_record {
  std::uint64_t next_index = 0;  ///< in: index of the first request; out: behind the last one
  std::uint32_t sends = 0;
  std::uint32_t bad_entries = 0;     ///< entries that the reader refuses: overwritten or incomplete
  std::uint32_t bad_letters = 0;     ///< requests whose data was not visible yet
  std::uint32_t overruns = 0;        ///< doorbells beyond the ring
  std::uint32_t unready = 0;         ///< answers that had to wait for a receive
  std::uint32_t least_posted = ~0u;  ///< receives posted when an answer went out
  std::uint32_t uncovered = 0;       ///< doorbells that left a request without a receive
};

/// One queue pair as the peer serves it.
struct peer_queue {
  fw::queue_attributes at;
  peer_record seen;
};

/// NIC and target in one, for one queue per lane: it takes requests as a NIC does, and does to each
/// what the request asks for. In order, or in an order drawn from the seed.
struct scripted_peer {
  struct shared {};

  peer_queue* queues = nullptr;
  fw::region_table regions{nullptr, 0};
  letter* letters = nullptr;  ///< by dword 10 of a request
  std::uint32_t letter_count = 0;
  std::uint32_t* stop = nullptr;
  std::uint32_t seed = 0;
  bool in_order = true;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    peer_queue& q = queues[lane.global_thread()];
    fw::queue_reader reader(q.at, regions);
    run r{*this, reader, q.seen, q.at.send_entries, q.seen.next_index};
    r.draw = seed * 2654435761u + lane.global_thread();
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      if (system_word<std::uint32_t>(*stop).load(acquire) != 0) break;
      bool busy = r.fetch();
      busy = r.answer() || busy;
      if (!busy) lane.pause();
    }
    q.seen.next_index = r.head;
  }

 private:
  static constexpr std::uint32_t room = 64;

  struct waiting_answer {
    std::uint32_t id = 0;
    std::uint16_t command = 0;
    std::uint16_t status = 0;
    bool again = false;      ///< to be answered a second time
    bool duplicate = false;  ///< answered before
  };

  /// The list of answers that are due, or held back.
  struct answers {
    waiting_answer at[room];
    std::uint32_t count = 0;

    GNSTOR_HD void add(const waiting_answer& a) {
      if (count < room) at[count++] = a;
    }
    GNSTOR_HD waiting_answer take(std::uint32_t k) {
      const waiting_answer a = at[k];
      for (--count; k < count; ++k) at[k] = at[k + 1];
      return a;
    }
  };

  /// One queue's state while the peer runs.
  struct run {
    const scripted_peer& peer;
    fw::queue_reader& reader;
    peer_record& seen;
    std::uint32_t entries;
    std::uint64_t head;
    std::uint64_t receive = 0;
    std::uint64_t completion = 0;
    std::uint64_t bell = 0;
    std::uint32_t draw = 0;
    bool broken = false;
    answers due{};
    answers held{};

    /// Takes every request that a new doorbell announces.
    GNSTOR_HD bool fetch() {
      const std::uint64_t now = reader.doorbell();
      if (now == bell) return false;
      bell = now;
      const std::uint16_t waiting = reader.sends_after(head, bell);
      if (waiting > entries) {
        ++seen.overruns;
        return true;
      }
      for (const std::uint64_t end = head + waiting; head < end;) take_entry();
      if (posted() < due.count + held.count) ++seen.uncovered;
      return true;
    }

    GNSTOR_HD std::uint32_t posted() const {
      return static_cast<std::uint16_t>(reader.receive_tail() -
                                        static_cast<std::uint16_t>(receive));
    }

    GNSTOR_HD void take_entry() {
      const fw::decoded_request r = reader.request(head);
      const std::uint64_t index = head;
      head += r.known ? r.blocks : 1;
      if (broken) return fail(index, wire::mlx5::syndrome::flushed);
      if (r.fault != wire::mlx5::syndrome::none) {
        ++seen.bad_entries;
        return fail(index, r.fault);
      }
      if (r.opcode == wire::mlx5::opcode::send) return command(index, reader.capsule(r));
      if (r.opcode == wire::mlx5::opcode::rdma_write) {
        copy(r.remote.address(), r.local.address(), r.local.bytes());
      } else if (r.opcode == wire::mlx5::opcode::rdma_read) {
        copy(r.local.address(), r.remote.address(), r.local.bytes());
      }
      if (r.signalled) {
        reader.complete(completion++, wire::mlx5::cqe_opcode::requester, index, r.local.bytes());
      }
    }

    GNSTOR_HD static void copy(std::uint64_t to, std::uint64_t from, std::uint32_t bytes) {
      memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    }

    GNSTOR_HD void fail(std::uint64_t index, wire::mlx5::syndrome why) {
      broken = true;
      reader.complete(completion++, wire::mlx5::cqe_opcode::requester_error, index, 0, why,
                      wire::mlx5::opcode::send);
    }

    GNSTOR_HD void command(std::uint64_t index, const wire::nvme::submission_entry& e) {
      ++seen.sends;
      waiting_answer a;
      a.command = e.command_id;
      a.id = ~0u;
      if (e.opcode == wire::nvme::fabrics_opcode) return due.add(a);
      a.id = e.cdw10;
      if (a.id >= peer.letter_count || !peer.letters[a.id].holds_question(a.id)) ++seen.bad_letters;
      const bool healthy = e.nsid == healthy_namespace;
      switch (static_cast<ask>(e.cdw12)) {
        case ask::answer: break;
        case ask::refuse:
          if (!healthy) a.status = static_cast<std::uint16_t>(e.cdw13 | e.cdw2);
          break;
        case ask::never:
          if (!healthy) return;
          break;
        case ask::hold: return held.add(a);
        case ask::let_go:
          for (std::uint32_t k = 0; k < held.count; ++k) due.add(held.at[k]);
          held.count = 0;
          break;
        case ask::break_send: return fail(index, static_cast<wire::mlx5::syndrome>(e.cdw13));
        case ask::break_receive:
          broken = true;
          return reader.complete(completion++, wire::mlx5::cqe_opcode::responder_error, receive++,
                                 0, static_cast<wire::mlx5::syndrome>(e.cdw13));
        case ask::twice: a.again = true; break;
      }
      due.add(a);
    }

    /// Sends one answer, if one is due and the peer has a mind to.
    GNSTOR_HD bool answer() {
      if (due.count == 0 || broken) return false;
      draw = draw * 1664525u + 1013904223u;
      if (!peer.in_order && (draw >> 30 & 1) != 0) return true;
      const std::uint32_t ready = posted();
      if (ready == 0) {
        ++seen.unready;
        return false;
      }
      if (ready < seen.least_posted) seen.least_posted = ready;
      waiting_answer a = due.take(peer.in_order ? 0 : (draw >> 8) % due.count);
      wire::nvme::completion_entry response{};
      response.command_id = a.command;
      response.dw1 = a.id;
      response.status = a.status;
      if (a.id < peer.letter_count) {
        response.dw0 = static_cast<std::uint32_t>(letter::reply(a.id));
        if (!a.duplicate) peer.letters[a.id].answer(a.id);
      }
      if (reader.respond(completion, receive, response)) {
        ++completion;
      } else {
        ++seen.bad_entries;
      }
      ++receive;
      a.duplicate = true;
      if (a.again) {
        a.again = false;
        due.add(a);
      }
      return true;
    }
  };
};

}  // namespace gnstor::test

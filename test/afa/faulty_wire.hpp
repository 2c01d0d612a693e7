#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/wire/mlx5/doorbell.hpp>
#include <hca/queue_reader.hpp>

namespace gnstor::test {

/// What a faulty wire does once, or from some moment on.
enum class wire_fault : std::uint32_t {
  none,
  lost_bell,    ///< a doorbell is lost
  double_bell,  ///< each doorbell is heard again later
  slow,         ///< completions wait, for less than any deadline
  late,         ///< a completion waits until somebody has given up
  twice,        ///< completions are delivered twice
  error,        ///< a completion in the middle of a batch is an error, what follows is flushed
  unready,      ///< receives are posted late and one by one: receiver not ready
  dead,         ///< from some moment on nothing passes any more
  sudden,       ///< nothing; but the channel is reset while it works
  count,
};

/// What a wire saw and did. Zero at the start.
struct wire_record {
  std::uint32_t lost = 0;     ///< doorbells
  std::uint32_t rung = 0;     ///< doorbells heard again
  std::uint32_t held = 0;     ///< completions that waited
  std::uint32_t unready = 0;  ///< moments with a command at the NIC and no receive
  std::uint32_t doubled = 0;  ///< completions
  std::uint32_t broken = 0;   ///< the wire is dead, or has reported an error; a system word
  std::uint32_t reused = 0;   ///< commands in the slot of another whose answer was still to come
  std::uint32_t overran = 0;  ///< answers without a receive
  std::uint32_t answers = 0;  ///< completions passed on
  std::uint32_t victim = 0;   ///< an answer was replaced by an error
};

/// What the host asks of a wire, and how far that is: system words.
struct wire_request {
  enum : std::uint32_t { nothing, drain, drained, serve };
  std::uint32_t asked = nothing;
};

/// Stands between a channel's queue memory and the emulated NIC: the NIC has a doorbell, a doorbell
/// record and a completion ring of its own, and one lane carries over what passes, or not. A store
/// to the channel's doorbell is an event, as it is to a real register. The lane also is the host
/// that has the NIC drain the queue pair and serve it again.
struct faulty_wire {
  struct shared {};
  static constexpr std::uint32_t most_depth = 16;

  fw::queue_attributes lanes;  ///< what the channel's lanes write and read
  fw::queue_context* context = nullptr;
  fw::region_table regions{nullptr, 0};
  wire_record* record = nullptr;
  wire_request* request = nullptr;
  std::uint32_t* timed_out = nullptr;  ///< requests given up so far; a system word
  std::uint32_t* stop = nullptr;
  std::uint32_t seed = 0;
  wire_fault fault = wire_fault::none;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    run r(*this);
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      if (device_word<std::uint32_t>(*stop).load(acquire) != 0) return;
      r.obey();
      if (!r.carry()) lane.pause();
    }
  }

 private:
  using word32 = system_word<std::uint32_t>;
  using word64 = system_word<std::uint64_t>;

  /// A command between its doorbell and its answer.
  struct outstanding {
    bool there = false;
    std::uint16_t id = 0;
    std::uint64_t index = 0;
  };

  struct run {
    const faulty_wire& w;
    const fw::queue_attributes& nic;
    fw::queue_reader reader;
    wire_fault fault;
    std::uint32_t draw;
    std::uint64_t sent = 0;     ///< send entries announced to the NIC
    std::uint64_t seen = 0;     ///< completions of the NIC taken
    std::uint64_t written = 0;  ///< completions written for the lanes
    std::uint32_t granted = 0;  ///< receives announced to the NIC, with `unready`
    std::uint32_t bells = 0;
    std::uint32_t hold = 0;   ///< rounds for which completions wait
    std::uint32_t again = 0;  ///< rounds until the last doorbell is heard again
    std::uint64_t last_bell = 0;
    std::uint64_t delivered = 0;  ///< behind the last entry answered: none before it can fail
    bool dead = false;
    outstanding open[most_depth];

    GNSTOR_HD explicit run(const faulty_wire& wire)
        : w(wire),
          nic(wire.context->at),
          reader(wire.lanes, wire.regions),
          fault(wire.fault),
          draw((wire.seed + 1) * 2654435761u) {}

    GNSTOR_HD std::uint32_t random(std::uint32_t below) {
      draw = draw * 1664525u + 1013904223u;
      return (draw >> 8) % below;
    }
    GNSTOR_HD static word32 half(std::uint64_t record, int which) {
      return word32(reinterpret_cast<std::uint32_t*>(record)[which]);
    }
    GNSTOR_HD static word64 bell(const fw::queue_attributes& at) {
      return word64(*reinterpret_cast<std::uint64_t*>(at.doorbell));
    }
    GNSTOR_HD static wire::mlx5::completion_entry& entry(const fw::queue_attributes& at,
                                                         std::uint64_t k) {
      return reinterpret_cast<wire::mlx5::completion_entry*>(
          at.completion_ring)[k & (at.completion_entries - 1)];
    }
    GNSTOR_HD void die() {
      dead = true;
      word32(w.record->broken).store(1, release);
    }

    // ---- the host's part of a reset

    GNSTOR_HD void obey() {
      const std::uint32_t asked = word32(w.request->asked).load(acquire);
      const device_word<std::uint32_t> life(w.context->active);
      const auto is = [&](fw::queue_life l) {
        return life.load(acquire) == static_cast<std::uint32_t>(l);
      };
      if (asked == wire_request::drain) {
        dead = true;
        if (is(fw::queue_life::serving)) {
          life.store(static_cast<std::uint32_t>(fw::queue_life::draining), release);
        } else if (is(fw::queue_life::drained)) {
          forget();
          word32(w.request->asked).store(wire_request::drained, release);
        }
      } else if (asked == wire_request::serve) {
        (void)bell(w.lanes).exchange(0, acq_rel);
        life.store(static_cast<std::uint32_t>(fw::queue_life::serving), release);
        word32(w.request->asked).store(wire_request::nothing, release);
        dead = false;
      }
    }

    /// Both ends begin anew, without a fault.
    GNSTOR_HD void forget() {
      fault = wire_fault::none;
      sent = seen = written = delivered = 0;
      hold = again = granted = 0;
      for (outstanding& o : open) o.there = false;
      half(nic.doorbell_record, 0).store(0, relaxed);
      half(nic.doorbell_record, 1).store(0, relaxed);
      bell(nic).store(0, relaxed);
      for (std::uint32_t k = 0; k < nic.completion_entries; ++k)
        word32(entry(nic, k).tail).store(wire::mlx5::unwritten_tail, relaxed);
    }

    // ---- what passes

    GNSTOR_HD bool carry() {
      if (dead) return false;
      const bool rang = carry_bell();
      carry_receives();
      return carry_completion() || rang;
    }

    GNSTOR_HD bool carry_bell() {
      if (again != 0 && --again == 0) {
        ++w.record->rung;
        bell(nic).store(last_bell, release);
      }
      if (bell(w.lanes).load(acquire) == 0) return false;
      const std::uint64_t value = bell(w.lanes).exchange(0, acq_rel);
      if (bells++ > 1 && fault == wire_fault::lost_bell && random(2) == 0) {
        ++w.record->lost;
        return true;
      }
      if (fault == wire_fault::dead && bells > 2 + w.seed % 8) {
        die();
        return true;
      }
      const std::uint32_t tail = half(w.lanes.doorbell_record, 1).load(acquire);
      for (; static_cast<std::uint16_t>(sent) != wire::mlx5::record_index(tail); ++sent) note();
      half(nic.doorbell_record, 1).store(tail, release);
      if (fault == wire_fault::double_bell && again == 0) {
        again = 1 + random(40);
        last_bell = value;
      }
      bell(nic).store(value, release);
      return true;
    }

    /// True if a command is without an answer.
    GNSTOR_HD bool is_busy() const {
      bool busy = false;
      for (const outstanding& o : open) busy = busy || o.there;
      return busy;
    }
    /// Notes the command at `sent`: no other may be in its slot.
    GNSTOR_HD void note() {
      const fw::decoded_request r = reader.request(sent);
      if (r.fault != wire::mlx5::syndrome::none || r.opcode != wire::mlx5::opcode::send) return;
      const std::uint16_t id = reader.capsule(r).command_id;
      outstanding* unused = nullptr;
      for (outstanding& o : open) {
        if (o.there && ((o.id ^ id) & (w.lanes.send_entries - 1)) == 0) ++w.record->reused;
        if (!o.there) unused = &o;
      }
      if (unused != nullptr) *unused = {true, id, sent};
    }

    GNSTOR_HD void carry_receives() {
      const std::uint32_t tail = half(w.lanes.doorbell_record, 0).load(acquire);
      const std::uint16_t posted = wire::mlx5::record_index(tail);
      if (fault != wire_fault::unready) {
        half(nic.doorbell_record, 0).store(tail, release);
      } else if (static_cast<std::uint16_t>(granted) != posted && random(16) == 0) {
        if (is_busy() && static_cast<std::uint16_t>(seen) == granted) ++w.record->unready;
        half(nic.doorbell_record, 0).store(wire::mlx5::record_value(++granted), release);
      }
    }

    GNSTOR_HD bool is_there(std::uint64_t k) {
      return wire::mlx5::tail_valid(word32(entry(nic, k).tail).load(acquire), k,
                                    nic.completion_entries);
    }

    GNSTOR_HD bool carry_completion() {
      if (!is_there(seen)) return false;
      if (fault == wire_fault::unready && seen >= granted) ++w.record->overran;
      const std::uint32_t after = 2 + w.seed % 5;  // answers that pass before the fault
      if (w.record->answers >= after) {
        if (fault == wire_fault::slow && hold == 0) {
          hold = 2 + random(200);
          ++w.record->held;
        }
        if (fault == wire_fault::late && word32(*w.timed_out).load(relaxed) == 0) return false;
        if (fault == wire_fault::error) return fail_batch();
      }
      if (hold > 1) return --hold != 0;
      hold = 0;
      const bool two = fault == wire_fault::twice && random(2) == 0;
      pass(seen);
      if (two && is_response(seen)) {
        ++w.record->doubled;
        pass(seen);
      }
      ++seen;
      return true;
    }

    GNSTOR_HD bool is_response(std::uint64_t k) {
      return wire::mlx5::tail_opcode(word32(entry(nic, k).tail).load(relaxed)) ==
             wire::mlx5::cqe_opcode::responder_send;
    }
    /// The id that response `k` of the NIC answers.
    GNSTOR_HD std::uint16_t answered(std::uint64_t k) {
      const std::uint16_t receive =
          wire::mlx5::tail_counter(word32(entry(nic, k).tail).load(relaxed));
      const auto* segments =
          reinterpret_cast<const wire::mlx5::data_segment*>(w.lanes.receive_ring);
      const std::uint64_t address = segments[receive & (w.lanes.receive_entries - 1)].address();
      const std::uint64_t high = word64(reinterpret_cast<std::uint64_t*>(address)[1]).load(relaxed);
      return static_cast<std::uint16_t>(high >> 32);
    }
    GNSTOR_HD outstanding* find(std::uint16_t id) {
      for (outstanding& o : open) {
        if (o.there && o.id == id) return &o;
      }
      return nullptr;
    }

    GNSTOR_HD void pass(std::uint64_t k) {
      if (is_response(k)) {
        if (outstanding* o = find(answered(k))) {
          o->there = false;
          if (o->index >= delivered) delivered = o->index + 1;
        }
      }
      const wire::mlx5::completion_entry& from = entry(nic, k);
      auto& to = entry(w.lanes, written);
      const auto move = [](const std::uint32_t& a, std::uint32_t& b) {
        word32(b).store(word32(const_cast<std::uint32_t&>(a)).load(relaxed), relaxed);
      };
      move(from.byte_count_be, to.byte_count_be);
      move(from.error_word, to.error_word);
      move(from.sop_drop_qpn, to.sop_drop_qpn);
      const std::uint32_t tail = word32(const_cast<std::uint32_t&>(from.tail)).load(relaxed);
      const bool lap = wire::mlx5::lap_owner(written, w.lanes.completion_entries);
      word32(to.tail).store(
          wire::mlx5::pack_tail(wire::mlx5::tail_counter(tail), wire::mlx5::tail_opcode(tail), lap),
          release);
      ++written;
      ++w.record->answers;
    }

    /// A good answer, one replaced by an error, and what is outstanding behind it flushed: at one
    /// go. Passes answers until one may fail: on a reliable connection no send before an answered
    /// one does.
    GNSTOR_HD bool fail_batch() {
      if (!is_response(seen)) return false;
      if (is_there(seen + 1) && random(2) == 0) pass(seen++);
      outstanding* victim = is_response(seen) ? find(answered(seen)) : nullptr;
      if (victim == nullptr || victim->index < delivered) {
        pass(seen++);
        return true;
      }
      fail(*victim, wire::mlx5::syndrome::remote_operation_error);
      w.record->victim = 1;
      for (outstanding& o : open) {
        if (o.there && o.index >= delivered) fail(o, wire::mlx5::syndrome::flushed);
      }
      die();
      return true;
    }
    GNSTOR_HD void fail(outstanding& o, wire::mlx5::syndrome why) {
      o.there = false;
      reader.complete(written++, wire::mlx5::cqe_opcode::requester_error, o.index, 0, why,
                      wire::mlx5::opcode::send);
    }
  };
};

}  // namespace gnstor::test

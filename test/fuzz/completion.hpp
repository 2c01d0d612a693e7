#pragma once

#include "channel/channel_image.hpp"
#include "input.hpp"
#include <gnstor/channel/channel.hpp>
#include <gnstor/io/async_io.hpp>
#include <gnstor/simt_host/lone_lane.hpp>

#include <set>
#include <vector>

namespace gnstor::test {

/// A channel whose peer, and the NIC between them, answer what they like: responses to nobody,
/// twice, of any status; completions of any kind. The channel's memory is its own, so that a
/// sanitizer sees whatever leaves it.
class hostile_answers {
 public:
  static constexpr std::uint32_t depth = 8;

  hostile_answers()
      : image_(64 * 1024),
        channel_(make_channel<nic_channel>(image_, depth, 1, 0x101, at_)),
        lane_() {
    channel_.queue().post_receives();
    channel_.counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
    lane_.set_now_ns(1'000'000);
  }

  void submit() {
    if (tickets_.size() >= 4 * depth) return;
    const auto sent = channel_.submit(wire::nvme::make_flush(0, 1));
    if (sent) tickets_.push_back({sent.value, true});
  }
  /// An operation of one part that up to three SSDs may serve.
  void begin(std::uint8_t said) {
    detail::io_step step;
    step.opcode = wire::nvme::nvm_opcode::read;
    step.candidates = 1 + said % 3;
    step.ssds = 0x020100;
    step.buffer = {0x10000, block_bytes, 1, 1};
    const auto io = async_io(channel_);
    const auto op = io.open({}, 0, deadline::after(simt::now_ns(), 1 + said * 1000ull));
    if (!op) return;
    if (io.try_add(op.value, step).code == status_code::would_block) return io.cancel(op.value);
    io.end(op.value);
    operations_.push_back(op.value);
  }
  /// A response capsule and its completion, as a sound NIC delivers what a target has sent.
  void respond(wire::nvme::completion_entry r, std::uint8_t whose) {
    if (!tickets_.empty() && whose % 4 != 0)
      r.command_id = tickets_[whose % tickets_.size()].t.id.value;
    const std::uint64_t index = responses_++;
    const auto* entry = reinterpret_cast<const wire::mlx5::data_segment*>(at_.receive_ring) +
                        index % at_.receive_entries;
    std::memcpy(reinterpret_cast<void*>(entry->address()), &r, sizeof r);
    note(r);
    wire::mlx5::completion_entry c{};
    c.byte_count_be = wire::be32(sizeof r);
    complete(c, static_cast<std::uint16_t>(index), wire::mlx5::cqe_opcode::responder_send, false);
  }
  /// A completion of any kind, about anything.
  void complete(wire::mlx5::completion_entry c, std::uint16_t counter, wire::mlx5::cqe_opcode kind,
                bool scattered) {
    if (kind == wire::mlx5::cqe_opcode::invalid) return;
    nic_lies_ = nic_lies_ || kind == wire::mlx5::cqe_opcode::requester ||
                kind == wire::mlx5::cqe_opcode::requester_error;
    // A NIC does not write over what was not taken.
    if (written_ - channel_.queue().taken() >= at_.completion_entries) return;
    if (scattered) {
      wire::nvme::completion_entry inside;
      std::memcpy(&inside, c.scatter, sizeof inside);
      note(inside);
    }
    c.tail = wire::mlx5::pack_tail(
        counter, kind, wire::mlx5::lap_owner(written_, at_.completion_entries), scattered);
    auto* ring = reinterpret_cast<wire::mlx5::completion_entry*>(at_.completion_ring);
    ring[written_++ % at_.completion_entries] = c;
  }
  void ask(std::uint8_t which) {
    if (tickets_.empty()) return;
    asked& a = tickets_[which % tickets_.size()];
    if (!a.waits) return;
    const status s = channel_.try_wait(a.t);
    fuzz_demand(s.code <= status_code::unsupported, "an outcome of no kind");
    if (s.code == status_code::would_block) return;
    a.waits = false;
    if (s.ok())
      fuzz_demand(succeeded_.contains(a.t.id.value), "a request succeeded that nobody answered so");
  }
  void take(std::uint8_t which) {
    if (operations_.empty()) return;
    const auto at = operations_.begin() + which % operations_.size();
    const status s = async_io(channel_).try_wait(*at);
    if (s.code != status_code::would_block) operations_.erase(at);
  }
  void poll() { (void)async_io(channel_).poll(); }
  void pass(std::uint16_t ns) { lane_.set_now_ns(simt::now_ns() + ns); }

  /// Nothing is counted that was not sent, and every slot is somebody's.
  void check() {
    for (int k = 0; k < 64; ++k) poll();
    const channel_state& counted = channel_.counters();
    fuzz_demand(counted.completed <= counted.submitted, "more answers than requests");
    fuzz_demand(slots_in_use(image_, channel_) <= depth, "more slots than there are");
    fuzz_demand(async_io(channel_).in_use() <= depth, "more operations than there is room for");
    // Whatever a target answers, or does not, operations end; a NIC that names entries nobody has
    // sent may keep the send queue full.
    for (int k = 0; k < 500; ++k) {
      pass(1000);
      poll();
    }
    if (nic_lies_) return;
    for (const ticket t : operations_)
      fuzz_demand(async_io(channel_).take(t).code != status_code::would_block,
                  "an operation that does not end");
  }

 private:
  struct asked {
    ticket t;
    bool waits;
  };
  void note(const wire::nvme::completion_entry& r) {
    if (detail::response_status(r).ok()) succeeded_.insert(r.command_id);
  }

  memory_image image_;
  fw::queue_attributes at_;
  nic_channel channel_;
  simt::host::lone_lane lane_;
  std::vector<asked> tickets_;
  std::vector<ticket> operations_;
  std::set<std::uint16_t> succeeded_;
  std::uint64_t responses_ = 0;
  std::uint64_t written_ = 0;
  bool nic_lies_ = false;  ///< it reported send entries
};

inline void fuzz_completion(fuzz_input in) {
  hostile_answers a;
  for (int steps = 0; !in.empty() && steps < 128; ++steps) {
    const auto op = in.take<std::uint8_t>();
    switch (op % 8) {
      case 0: a.submit(); break;
      case 1: a.begin(op / 8); break;
      case 2: a.respond(in.take<wire::nvme::completion_entry>(), op / 8); break;
      case 3: {
        const auto kind = static_cast<wire::mlx5::cqe_opcode>(in.take<std::uint8_t>() & 0xf);
        const auto counter = in.take<std::uint16_t>();
        const bool scattered = (op & 8) != 0;
        wire::mlx5::completion_entry c{};
        in.fill(&c, (op & 16) != 0 ? 60 : 16);
        a.complete(c, counter, kind, scattered);
        break;
      }
      case 4: a.ask(op / 8); break;
      case 5: a.take(op / 8); break;
      case 6: a.poll(); break;
      case 7: a.pass(in.take<std::uint16_t>()); break;
    }
  }
  a.check();
}

/// Requests that are answered, late ones, and a queue pair that breaks.
inline std::vector<std::vector<std::uint8_t>> completion_seeds() {
  std::vector<std::uint8_t> sound;
  for (std::uint8_t k = 0; k < 4; ++k) {
    sound.insert(sound.end(), {0, static_cast<std::uint8_t>(2 | (k + 1) << 3)});
    sound.insert(sound.end(), 16, 0);
    sound.insert(sound.end(), {6, static_cast<std::uint8_t>(4 | k << 3)});
  }
  std::vector<std::uint8_t> late = {1 | 2 << 3, 7, 0xff, 0xff, 6, 6, 6, 6, 5, 0, 4, 2};
  std::vector<std::uint8_t> broken = {0, 1, 3 | 16, 0xd, 0, 0};
  broken.insert(broken.end(), 60, 5);
  broken.insert(broken.end(), {6, 4, 5});
  return {sound, late, broken};
}

}  // namespace gnstor::test

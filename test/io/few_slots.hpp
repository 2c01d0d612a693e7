#pragma once
/// A warp's asynchronous operations on a channel of as many request slots as it has lanes: what an
/// answered step and one that was given up do in the same poll.

#include "qp/memory_image.hpp"
#include <gnstor/io/warp_async_io.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/wire/nvme/media_status.hpp>

#include <string>

namespace gnstor::test {

/// What `warp_async_io` needs of a channel: slots, and nobody who answers by himself.
class slots_alone {
 public:
  struct always_ready {
    GNSTOR_HD bool ready() const { return true; }
    GNSTOR_HD status refusal() const { return {}; }
    GNSTOR_HD status gave_up() const {
      return status::make(status_code::timed_out, reporter::channel);
    }
  };

  GNSTOR_HD slots_alone(channel_state* state, std::uint32_t depth) : slots_(state, depth) {}

  GNSTOR_HD result<ticket> submit(const simt::group& g, const wire::nvme::submission_entry& command,
                                  bool wants) {
    const std::uint32_t at = slots_.claim(g, wants);
    if (wants && at == detail::exclusive_slots::nowhere)
      return status::make(status_code::would_block, reporter::channel);
    if (!wants) return ticket{};
    const std::uint64_t generation = slots_.generation(at) + 1;
    slots_.expect(at, generation, 0);
    asked_ = command.nsid - 1;
    sent_ = ticket{slots_.id_of(generation, at)};
    return sent_;
  }
  /// The lane's last request is answered: a lane that `answers` says how.
  GNSTOR_HD void answer(const simt::group& g, std::uint16_t nvme_status, bool answers) {
    completion c;
    c.kind = answers ? completion_kind::response : completion_kind::none;
    c.response.status = nvme_status;
    const auto met = slots_.settle(g, sent_.id, answers, c);
    delivered_ += detail::bits(g.ballot(met == detail::exclusive_slots::answer::delivered));
    g.sync();
  }
  GNSTOR_HD bool poll(const simt::group&) { return false; }
  GNSTOR_HD std::uint32_t take_delivered() { return cuda::std::exchange(delivered_, 0u); }
  GNSTOR_HD detail::exclusive_slots slots() const { return slots_; }
  GNSTOR_HD void abandon(const simt::group& g, std::uint32_t at, bool leaves) const {
    slots_.abandon(g, at, leaves);
  }
  GNSTOR_HD always_ready life() const { return {}; }
  /// The SSD that the lane's last command went to.
  GNSTOR_HD std::uint32_t asked() const { return asked_; }

 private:
  detail::exclusive_slots slots_;
  ticket sent_{};
  std::uint32_t asked_ = ~0u;
  std::uint32_t delivered_ = 0;
};

struct few_slots_record {
  std::uint32_t polls;        ///< until both operations had ended
  std::uint32_t asked[2];     ///< the SSD that each lane's last command went to
  std::uint64_t outcome[2];   ///< `status::pack()`
  std::uint32_t still_taken;  ///< slots that are neither free nor given up
};

/// Two lanes fill two slots. The first SSD of lane 0's step is silent for its turn; that of lane
/// 1's answers with an error meanwhile, so that one poll finds both, with one slot for the two.
struct give_up_beside_an_answer {
  struct shared {};
  static constexpr std::uint32_t depth = 2;
  static constexpr std::uint64_t turn_ns = 20'000'000;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, channel_state* state, few_slots_record* record) const {
    const simt::group g = lane.warp();
    const std::uint32_t me = g.thread_rank();
    slots_alone channel(state, depth);
    auto* const memory = reinterpret_cast<unsigned char*>(state);
    detail::warp_async_io<slots_alone> io(memory + detail::channel_layout(depth).steps(), depth);
    const std::uint64_t begun = simt::now_ns();
    bool first = true;
    const auto next = [&](detail::io_step& step) {
      step = detail::io_step{.candidates = 2, .operation = step.operation, .ssds = 0x0100};
      return cuda::std::exchange(first, false);
    };
    const deadline ends = deadline::after(begun, me == 0 ? 2 * turn_ns : 1000 * turn_ns);
    const result<ticket> mine = io.begin(g, channel, {}, ends, next, true);
    for (until past{deadline::after(begun, turn_ns + turn_ns / 4)}; past;) lane.pause();

    const auto media = static_cast<std::uint16_t>(
        wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error));
    channel.answer(g, media, me == 1);
    (void)io.poll(g, channel);
    record->asked[me] = channel.asked();
    channel.answer(g, 0, me == 1);
    bool open = mine.status.ok();
    status outcome = mine.status;
    std::uint32_t polls = 0;
    for (bounded tries{10}; tries && g.any(open);) {
      (void)io.poll(g, channel);
      ++polls;
      if (open) outcome = io.take(mine.value);
      open = open && outcome.code == status_code::would_block;
    }
    record->outcome[me] = outcome.pack();
    const detail::request_phase phase = channel.slots().phase_of(channel.slots().word(me));
    const std::uint32_t taken =
        g.ballot(phase != detail::request_phase::free && phase != detail::request_phase::abandoned);
    if (g.leads()) record->still_taken = detail::bits(taken);
    if (g.leads()) record->polls = polls;
  }
};

/// The case's memory and its record, wherever its kernel runs.
struct few_slots_image {
  static constexpr std::uint32_t depth = give_up_beside_an_answer::depth;
  explicit few_slots_image(void* target = nullptr)
      : memory(8192, target),
        state(reinterpret_cast<channel_state*>(
            memory.take<std::uint64_t>(detail::channel_layout(depth).bytes(true) / 8))),
        record(memory.take<few_slots_record>()) {}

  /// What went wrong, or nothing.
  std::string fault() {
    const few_slots_record& r = *memory.here(record);
    const status given_up = status::unpack(r.outcome[0]), answered = status::unpack(r.outcome[1]);
    if (r.asked[1] != 1) return "the answered step did not go on to its other SSD";
    if (r.asked[0] != 0) return "the step that was given up took the answered one's slot";
    if (given_up.code != status_code::timed_out) return "the step that was given up has not ended";
    if (!answered.ok()) return "the answered step has not ended well";
    return r.still_taken == 0 ? "" : "a slot is lost";
  }

  memory_image memory;
  channel_state* state;
  few_slots_record* record;
};

}  // namespace gnstor::test

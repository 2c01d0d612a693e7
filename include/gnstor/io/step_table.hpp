#pragma once

#include <gnstor/channel/channel_layout.hpp>
#include <gnstor/io/io_step.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::detail {

/// The steps of asynchronous operations that are in flight on a channel, by request slot.
///
/// A step is read by the lane that collects its answer, which alone has the slot then, and at any
/// moment by lanes that ask whether its time is up. For these each record ends with the phase word
/// of its request, which never comes back: who finds the one it looks for, reads, and then moves
/// the request from just that phase, has read that request's step and nothing newer.
template <thread_scope Scope>
class step_table {
 public:
  /// @param memory zero-filled, `channel_layout::step_bytes` for each request slot
  GNSTOR_HD explicit step_table(void* memory) : records_(static_cast<record*>(memory)) {}

  /// Notes the step that goes out under `slot`, whose request has the phase word `phase`.
  /// @par Callers the lane that has claimed the slot, before it publishes the request
  GNSTOR_HD void write(std::uint32_t slot, const io_step& step, std::uint64_t phase) const {
    record& r = records_[slot];
    std::uint64_t words[io_step::words];
    step.pack(words);
    for (std::uint32_t k = 0; k < io_step::words; ++k) word(r.words[k]).store(words[k], relaxed);
    // Paired with the acquire in `read`.
    word(r.phase).store(phase, release);
  }

  /// The step that went out under `slot` with the phase word `phase`; false if there is none.
  /// @par Callers any lane; what it got is certain once the request was moved from `phase`, or if
  /// the slot is the caller's
  GNSTOR_HD bool read(std::uint32_t slot, std::uint64_t phase, io_step& step) const {
    record& r = records_[slot];
    if (word(r.phase).load(acquire) != phase) return false;
    step = load(r);
    return true;
  }
  /// Nothing is known of `slot` any more. @par Callers who alone has the slot
  GNSTOR_HD void forget(std::uint32_t slot) const { word(records_[slot].phase).store(0, relaxed); }
  /// The step of a request that is the caller's alone.
  GNSTOR_HD io_step read(std::uint32_t slot) const { return load(records_[slot]); }

 private:
  struct alignas(64) record {
    std::uint64_t words[io_step::words];
    std::uint64_t phase;
  };

  static_assert(sizeof(record) == channel_layout::step_bytes);

  GNSTOR_HD static atomic_ref<std::uint64_t, Scope> word(std::uint64_t& w) {
    return atomic_ref<std::uint64_t, Scope>(w);
  }
  GNSTOR_HD static io_step load(record& r) {
    std::uint64_t words[io_step::words];
    for (std::uint32_t k = 0; k < io_step::words; ++k) words[k] = word(r.words[k]).load(relaxed);
    return io_step::unpack(words);
  }

  record* records_;
};

}  // namespace gnstor::detail

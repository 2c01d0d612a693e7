#pragma once

#include <timing/elapsed_clock.hpp>
#include <timing/ssd_model.hpp>

#include <vector>

namespace gnstor::fw {

/// An `ssd_model` that keeps up with a clock: commands come when their work is done, and go when
/// the model says that a real SSD had done it.
/// @par Callers one owner
class paced_ssd {
 public:
  /// @param rules of a controller that was given none
  explicit paced_ssd(const ssd_profile& profile, const arbitration& rules = {.burst_log2 = 3})
      : model_(profile), rules_(rules.pack()) {
    model_.arbiter().set(rules);
  }

  /// A command has arrived, and its pages are known.
  /// @param now nanoseconds of any clock; where it goes back, another one goes on from there
  void submit(std::uint64_t now, queue_class priority, timed_command c);
  /// Lets time pass.
  /// @par Result the commands that have ended; valid until the next call
  const std::vector<timed_completion>& run(std::uint64_t now);
  /// Pages that garbage collection has moved, counted since any time: units and channels are busy
  /// with them, too.
  void moved(std::uint64_t now, std::uint64_t total);
  /// New rules of Set Features (Arbitration), if they are new.
  void arbitrate(std::uint32_t cdw11);

  const ssd_profile& profile() const { return model_.profile(); }
  /// True if no command is under way.
  bool is_idle() const { return under_way_ == 0; }
  /// When something happens next, in the clock's nanoseconds, rounded up; `ssd_model::never`.
  std::uint64_t next() const;
  /// What a power cut finds in the write buffer: each page once, in the order in which it came.
  std::vector<std::uint32_t> buffered() const { return model_.buffered(); }

 private:
  ssd_model model_;
  std::uint32_t rules_;
  std::uint64_t moved_ = ~std::uint64_t{0};  ///< pages, when last asked; all ones: never
  elapsed_clock clock_;
  std::uint64_t under_way_ = 0;
  std::vector<timed_completion> ended_;  ///< and not given away yet
  std::vector<timed_completion> given_;
};

}  // namespace gnstor::fw

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace gnstor::host {

/// Which volume is scrubbed next: those that were asked for, and every so often all of them, one
/// after another. A scrub that ends early, because an epoch began or an SSD failed, is done again.
/// @par Callers one at a time
class scrub_schedule {
 public:
  using clock = std::chrono::steady_clock;

  /// @param every from the beginning of a pass over all volumes to that of the next; 0: there are
  /// none. The first begins so long after `now`.
  scrub_schedule(clock::duration every, clock::time_point now)
      : every_(every), next_(now + every) {}

  /// Puts a volume before those of a pass, unless it waits already.
  void ask(std::uint16_t vid) {
    if (std::find(asked_.begin(), asked_.end(), vid) == asked_.end()) asked_.push_back(vid);
  }
  /// True when all volumes are due. @par Then `begin_pass` follows
  bool pass_is_due(clock::time_point now) const {
    return every_ != clock::duration::zero() && now >= next_ && pass_.empty();
  }
  void begin_pass(const std::vector<std::uint16_t>& volumes, clock::time_point now) {
    pass_.assign(volumes.begin(), volumes.end());
    next_ = now + every_;
    in_pass_ = true;
  }
  /// Goes on with a pass that began `since` before `now`. @param left volumes, none if it is over
  void resume(const std::vector<std::uint16_t>& left, clock::duration since,
              clock::time_point now) {
    if (every_ == clock::duration::zero()) return;
    pass_.assign(left.begin(), left.end());
    next_ = now + every_ - std::min(every_, since);
    in_pass_ = !pass_.empty();
  }
  /// True once when all volumes of a pass are done.
  bool pass_ends() {
    const bool ends = in_pass_ && pass_.empty() && asked_.empty() && !current_;
    in_pass_ = in_pass_ && !ends;
    return ends;
  }

  /// The volume to begin with now; nothing: one is being scrubbed, or none is due.
  std::optional<std::uint16_t> take(clock::time_point now) {
    if (current_ || now < not_before_) return std::nullopt;
    std::deque<std::uint16_t>& from = asked_.empty() ? pass_ : asked_;
    if (from.empty()) return std::nullopt;
    current_ = from.front();
    from.pop_front();
    return current_;
  }
  /// The volume that is being scrubbed, if any.
  std::optional<std::uint16_t> current() const { return current_; }
  /// What was taken last is over.
  void done() { current_.reset(); }
  /// It ended early: it is taken again, not before `pause` is over.
  void again(clock::time_point now, clock::duration pause) {
    if (!current_) return;
    not_before_ = now + pause;
    asked_.push_front(*current_);
    current_.reset();
  }

 private:
  clock::duration every_;
  clock::time_point next_;
  clock::time_point not_before_{};
  std::deque<std::uint16_t> asked_;
  std::deque<std::uint16_t> pass_;
  std::optional<std::uint16_t> current_;
  bool in_pass_ = false;
};

}  // namespace gnstor::host

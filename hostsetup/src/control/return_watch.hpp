#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace gnstor::host {

/// Which absent SSDs are taken back by themselves: those that failed, and have answered again for a
/// while. One that has failed `most_failures` times within an hour stays out, as it would each time
/// cost the array an epoch and a fill; so does one that somebody has taken out.
/// @par Callers one at a time
class return_watch {
 public:
  using time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t most_failures = 3;
  static constexpr std::chrono::hours memory{1};

  /// It is absent from now on.
  void failed(std::uint32_t ssd, time now) {
    record& r = ssds_[ssd];
    r.answering.reset();
    r.failures.push_back(now);
    if (r.failures.size() > most_failures) r.failures.pop_front();
  }
  /// Somebody has taken it out: it stays out.
  void taken_out(std::uint32_t ssd) { ssds_[ssd].by_hand = true; }
  /// Somebody has taken it in, and knows why.
  void taken_in(std::uint32_t ssd) { ssds_.erase(ssd); }
  /// It is absent, and was looked at.
  void seen(std::uint32_t ssd, bool answers, time now) {
    record& r = ssds_[ssd];
    if (!answers) r.answering.reset();
    if (answers && !r.answering) r.answering = now;
  }
  /// True if it has answered for so long without a break, and nobody has taken it out.
  bool is_due(std::uint32_t ssd, time now, std::chrono::milliseconds after) const {
    const auto at = ssds_.find(ssd);
    if (at == ssds_.end() || at->second.by_hand || !at->second.answering) return false;
    return now - *at->second.answering >= after;
  }
  /// True if it has failed so often that it stays out.
  bool keeps_failing(std::uint32_t ssd, time now) const {
    const auto at = ssds_.find(ssd);
    return at != ssds_.end() && at->second.failures.size() == most_failures &&
           now - at->second.failures.front() < memory;
  }
  /// True once for each failure with which it began to stay out: somebody should hear of it.
  bool is_unreported(std::uint32_t ssd, time now) {
    if (!keeps_failing(ssd, now)) return false;
    record& r = ssds_[ssd];
    const bool unreported = r.said != r.failures.back();
    r.said = r.failures.back();
    return unreported;
  }

 private:
  struct record {
    std::deque<time> failures{};      ///< the last ones
    std::optional<time> answering{};  ///< since when it has answered, while it was absent
    bool by_hand = false;
    time said{};
  };
  std::map<std::uint32_t, record> ssds_;
};

}  // namespace gnstor::host

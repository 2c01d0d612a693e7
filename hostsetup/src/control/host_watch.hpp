#pragma once

#include "array_front_end.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <vector>

namespace gnstor::host {

/// Notices that a host which may write is gone, by what a target elsewhere says of its hosts.
class host_watch {
 public:
  using time = std::chrono::steady_clock::time_point;
  /// How long a host may be missed that was never seen: it may be connecting for the first time.
  /// One that was is gone: the target gives it time to come back.
  static constexpr std::chrono::milliseconds patience{500};
  /// How long a target has to have been serving before a host counts as missed that was not seen
  /// there since it began: it comes back.
  static constexpr std::chrono::milliseconds settling{3000};

  /// Takes what a target has said. @param writers who may write
  /// @param asked when it was asked @param now when it had answered
  /// Those of them that are gone, or are there in another life.
  std::vector<client_id> note(const array_front_end::connected& there,
                              const std::vector<client_id>& writers, time asked, time now) {
    // It has been serving for longer than since it was asked last: it was not started anew.
    const bool same_target = asked_ && there.serving > now - *asked_;
    asked_ = asked;
    std::map<std::uint16_t, seen> next;
    for (const connected_host& h : there.hosts)
      next[h.client.value] = {.life = h.life, .here = true};
    std::vector<client_id> gone;
    for (const client_id w : writers) {
      seen& is = next[w.value];
      if (is.writes) continue;  // of several volumes
      is.writes = true;
      const auto at = seen_.find(w.value);
      const seen was = at == seen_.end() ? seen{} : at->second;
      const bool reborn = is.life != 0 && was.writes && was.life != 0 && was.life != is.life;
      const bool was_here = same_target && was.here;
      is.missed = is.life == 0 && (was_here || there.serving >= settling);
      is.here = is.here || was_here;
      is.since = was.missed ? was.since : now;
      if (is.life == 0) is.life = was.life;
      const bool late = was.life != 0 || now - is.since >= patience;
      if (reborn || (is.missed && late)) gone.push_back(w);
    }
    seen_ = std::move(next);
    return gone;
  }

 private:
  struct seen {
    std::uint32_t life = 0;  ///< 0: not known
    bool here = false;       ///< it was connected since the target began to serve
    bool writes = false;
    bool missed = false;
    time since{};  ///< when it was missed first
  };
  std::optional<time> asked_;           ///< when the target was asked last
  std::map<std::uint16_t, seen> seen_;  ///< hosts, and who may write, by client id
};

}  // namespace gnstor::host

#pragma once

#include "array_front_end.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

namespace gnstor::host {

/// Notices that a host which may write is gone, by what a target elsewhere says of its hosts.
class host_watch {
 public:
  using time = std::chrono::steady_clock::time_point;
  /// How long a host may be missed that was never seen: it may be connecting for the first time.
  /// One that was is gone: the target gives it time to come back.
  static constexpr std::chrono::milliseconds patience{500};
  /// How long a target has to have been serving before a host counts as missed: it comes back.
  static constexpr std::chrono::milliseconds settling{3000};

  /// Takes what a target said at `now`. @param writers who may write
  /// Those of them that are gone, or are there in another life.
  std::vector<client_id> note(const array_front_end::connected& there,
                              const std::vector<client_id>& writers, time now) {
    std::map<std::uint16_t, seen> next;
    std::vector<client_id> gone;
    for (const client_id w : writers) {
      if (next.contains(w.value)) continue;
      seen& is = next[w.value];
      if (const auto was = seen_.find(w.value); was != seen_.end()) is = was->second;
      const auto at = std::find_if(there.hosts.begin(), there.hosts.end(),
                                   [&](const connected_host& h) { return h.client == w; });
      const bool missing = at == there.hosts.end() && there.serving >= settling;
      const bool reborn = at != there.hosts.end() && is.life != 0 && is.life != at->life;
      if (!missing) is.missed = false;
      if (missing && !is.missed) is = {is.life, true, now};
      if (at != there.hosts.end()) is.life = at->life;
      const bool late = is.life != 0 || now - is.since >= patience;
      if (reborn || (missing && late)) gone.push_back(w);
    }
    seen_ = std::move(next);
    return gone;
  }

 private:
  struct seen {
    std::uint32_t life = 0;  ///< 0: not known
    bool missed = false;
    time since{};  ///< when it was missed first
  };
  std::map<std::uint16_t, seen> seen_;  ///< who may write, by client id
};

}  // namespace gnstor::host

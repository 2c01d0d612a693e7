#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace gnstor::daemon {

/// SSDs that were taken out for planned work, and what of their data counts when they are back: the
/// volumes whose replicas were equal when they left, and which nobody was let write since.
///
/// A manager keeps it in memory alone. The next one does not know what was written meanwhile, and
/// has such an SSD filled whole.
class planned_absences {
 public:
  struct absence {
    std::uint32_t epoch = 0;  ///< in which it served last: it knows this one, or a later one
    std::uint64_t until = 0;  ///< ns, as the manager's clock counts; then nothing counts any more
    std::map<std::uint16_t, std::uint64_t> volumes{};  ///< hash factors, by VID
  };

  void begin(std::uint32_t ssd, absence a) { away_[ssd] = std::move(a); }
  void end(std::uint32_t ssd) { away_.erase(ssd); }
  void expire(std::uint64_t now) {
    std::erase_if(away_, [now](const auto& entry) { return entry.second.until <= now; });
  }
  /// Somebody may write a volume from now on.
  void changes(std::uint16_t vid) {
    for (auto& [ssd, a] : away_) a.volumes.erase(vid);
  }
  /// Null: it was not taken out so, or for too long.
  const absence* of(std::uint32_t ssd) const {
    const auto at = away_.find(ssd);
    return at == away_.end() ? nullptr : &at->second;
  }

 private:
  std::map<std::uint32_t, absence> away_;
};

}  // namespace gnstor::daemon

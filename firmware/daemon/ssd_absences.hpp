#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace gnstor::daemon {

/// SSDs that are away, and what of their data counts when they are back: what nobody was let write
/// since they left, as it is, and the rest but for the regions that other SSDs have marked as
/// changed. So no mark is wiped, of any volume that is here.
///
/// The next manager knows only of planned absences, from the journal, if there is one, and of those
/// only what nobody was let write (`manager::restore_absence`); else it has such an SSD filled
/// whole.
class ssd_absences {
 public:
  struct absence {
    std::uint32_t epoch = 0;  ///< in which it served last: it knows this one, or a later one
    std::uint64_t until = 0;  ///< ns, as the manager's clock counts; then nothing counts any more
    bool planned = false;     ///< it was taken out for work, and is to come back
    bool partly = false;      ///< what was changed since is asked for; else such a volume is lost
    /// Hash factors, by VID, of volumes whose replicas were equal when it left, and which nobody
    /// was let write since.
    std::map<std::uint16_t, std::uint64_t> volumes{};
    struct written {
      std::uint64_t hash_factor = 0;
      bool asked = false;  ///< all regions that have changed have been asked for
    };
    std::map<std::uint16_t, written> changed{};  ///< the others
    /// By VID: epochs of changes of records that it was sent when it came back, and failed again.
    std::map<std::uint16_t, std::uint32_t> informed{};
    /// Places, by bit, without an SSD when it left, and ever since: nobody wrote what lies there
    /// and on it alone.
    std::uint64_t together = 0;
    /// Those, where an SSD was being filled then, and where one was lost later: who serves there
    /// alone does not know all that has changed.
    std::uint64_t lost = 0;
  };

  /// @param empty places that are without an SSD from now on, by bit @param filled at which the
  /// only ones are being filled
  void begin(std::uint32_t ssd, std::uint64_t empty, std::uint64_t filled, absence a) {
    a.together = empty;
    a.lost = empty | filled;
    away_[ssd] = std::move(a);
  }
  void end(std::uint32_t ssd) { away_.erase(ssd); }
  /// @param coming_back SSDs, by bit, of which it counts for as long as that lasts
  void expire(std::uint64_t now, std::uint64_t coming_back) {
    std::erase_if(away_, [=](const auto& entry) {
      return entry.second.until <= now && (coming_back >> entry.first & 1) == 0;
    });
  }
  /// Places, by bit, lose their SSDs.
  void lose(std::uint64_t places) {
    for (auto& [ssd, a] : away_) a.lost |= places;
  }
  /// An SSD serves at a place again that had none.
  /// @param as if it had never left: of it nothing was changed while both were away
  void return_to(std::uint32_t place, std::uint64_t as_if) {
    const std::uint64_t there = std::uint64_t{1} << place;
    for (auto& [ssd, a] : away_) {
      if ((a.together & there) != 0 && (as_if >> ssd & 1) != 0) a.lost &= ~there;
      a.together &= ~there;
    }
  }
  /// Somebody may write a volume from now on.
  void changes(std::uint16_t vid) {
    for (auto& [ssd, a] : away_) {
      if (const auto at = a.volumes.find(vid); at != a.volumes.end()) {
        if (a.partly) a.changed[vid] = {at->second};
        a.volumes.erase(at);
      } else if (const auto of = a.changed.find(vid); of != a.changed.end()) {
        of->second.asked = false;
      }
    }
  }
  /// A volume is deleted, or is to lie elsewhere.
  void forget(std::uint16_t vid) {
    for (auto& [ssd, a] : away_) {
      a.volumes.erase(vid);
      a.changed.erase(vid);
    }
  }
  /// True if marks of a volume are needed.
  bool need_marks(std::uint16_t vid) const {
    for (const auto& [ssd, a] : away_) {
      if (a.volumes.contains(vid) || a.changed.contains(vid)) return true;
    }
    return false;
  }
  /// Null: nothing of it counts.
  const absence* of(std::uint32_t ssd) const {
    const auto at = away_.find(ssd);
    return at == away_.end() ? nullptr : &at->second;
  }
  absence* of(std::uint32_t ssd) {
    const auto at = away_.find(ssd);
    return at == away_.end() ? nullptr : &at->second;
  }
  /// Null: it is not out for planned work, or has been for too long.
  const absence* planned(std::uint32_t ssd) const {
    const absence* const a = of(ssd);
    return a != nullptr && a->planned ? a : nullptr;
  }

 private:
  std::map<std::uint32_t, absence> away_;
};

}  // namespace gnstor::daemon

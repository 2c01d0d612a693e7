#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace gnstor::daemon {

/// What is to become of an SSD of an array, volume by volume.
enum class ssd_aim : std::uint8_t {
  none,
  drain,  ///< it is emptied: no volume is to lie on it
  join,   ///< every volume that lies on all SSDs before it is spread over it
  spare,  ///< no volume is to lie on it: it stands by to serve at another one's place
};

/// SSDs that are to be emptied, or to be given their share, and which volumes are tried again when.
///
/// In memory alone: what has moved has moved. Whoever runs a manager tells the next one.
class ssd_plans {
 public:
  void set(std::uint32_t ssd, ssd_aim aim) {
    if (aim == ssd_aim::none) {
      aims_.erase(ssd);
    } else {
      aims_[ssd] = aim;
    }
    again_.clear();  // whoever says so wants it now
  }
  ssd_aim of(std::uint32_t ssd) const {
    const auto at = aims_.find(ssd);
    return at == aims_.end() ? ssd_aim::none : at->second;
  }
  /// True if a volume may have to be moved.
  bool any() const {
    return std::any_of(aims_.begin(), aims_.end(),
                       [](const auto& entry) { return entry.second != ssd_aim::spare; });
  }
  /// SSDs, by bit, that are to be, or are, empty.
  std::uint64_t kept_free() const {
    std::uint64_t some = 0;
    for (const auto& [ssd, aim] : aims_)
      if (aim != ssd_aim::join) some |= std::uint64_t{1} << ssd;
    return some;
  }
  /// A volume could not be moved: it is tried again from `until` on.
  void put_off(std::uint16_t vid, std::uint64_t until) { again_[vid] = until; }
  bool is_put_off(std::uint16_t vid, std::uint64_t now) const { return due(vid) > now; }
  /// From when on.
  std::uint64_t due(std::uint16_t vid) const {
    const auto at = again_.find(vid);
    return at == again_.end() ? 0 : at->second;
  }

 private:
  std::map<std::uint32_t, ssd_aim> aims_;
  std::map<std::uint16_t, std::uint64_t> again_;  ///< ns, by VID
};

}  // namespace gnstor::daemon

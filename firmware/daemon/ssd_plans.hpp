#pragma once

#include <cstdint>
#include <map>

namespace gnstor::daemon {

/// What is to become of an SSD of an array, volume by volume.
enum class ssd_aim : std::uint8_t {
  none,
  drain,  ///< it is emptied: no volume is to lie on it
  join,   ///< every volume that lies on all SSDs before it is spread over it
};

/// SSDs that are to be emptied, or to be given their share, and which volumes are tried again when.
///
/// A manager keeps it in memory alone: what has moved has moved, and the next one is asked again.
class ssd_plans {
 public:
  struct plan {
    ssd_aim aim = ssd_aim::none;
    std::map<std::uint16_t, std::uint64_t> again{};  ///< ns, by VID: not before
  };

  void set(std::uint32_t ssd, ssd_aim aim) { all_[ssd] = {aim, {}}; }
  void end(std::uint32_t ssd) { all_.erase(ssd); }
  ssd_aim of(std::uint32_t ssd) const {
    const auto at = all_.find(ssd);
    return at == all_.end() ? ssd_aim::none : at->second.aim;
  }
  /// SSDs, by bit, that are to be, or are, empty.
  std::uint64_t drained() const {
    std::uint64_t some = 0;
    for (const auto& [ssd, p] : all_)
      if (p.aim == ssd_aim::drain) some |= std::uint64_t{1} << ssd;
    return some;
  }
  /// A volume could not be moved: it is tried again later.
  void put_off(std::uint16_t vid, std::uint64_t until) {
    for (auto& [ssd, p] : all_) p.again[vid] = until;
  }
  const std::map<std::uint32_t, plan>& all() const { return all_; }

 private:
  std::map<std::uint32_t, plan> all_;
};

}  // namespace gnstor::daemon

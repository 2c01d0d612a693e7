#pragma once
/// What a request may have met with: faults, epochs and rights as the SSDs received them, and
/// engines that stood still. All of it comes from those who do it, nothing from those who answer.

#include "swarm.hpp"
#include <afa/ssd_fault.hpp>
#include <daemon/client_rights.hpp>
#include <daemon/ssd_report.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace gnstor::test {

/// The front end that the manager has refuse SSDs, among those that may stand still.
inline constexpr std::uint32_t front_end_role = ~0u;

/// What has befallen an array, and when. Times are steps of the world; "since" a step asks whether
/// something was so at any moment from then until now.
class circumstances {
 public:
  explicit circumstances(std::uint32_t ssds) : ssds_(ssds) {}

  void set_time(std::uint64_t step, std::uint64_t now_ns) {
    step_ = step;
    now_ns_ = now_ns;
  }
  std::uint64_t now_ns() const { return now_ns_; }

  // ---- SSDs

  void fault_is(std::uint32_t ssd, fw::ssd_fault f) {
    disk& d = ssds_[ssd];
    if (f == d.fault) return;
    d.ended[static_cast<std::size_t>(d.fault)] = step_;
    d.fault = f;
  }
  bool is(std::uint32_t ssd, fw::ssd_fault f) const { return ssds_[ssd].fault == f; }
  bool was(std::uint32_t ssd, fw::ssd_fault f, std::uint64_t since) const {
    return is(ssd, f) || ssds_[ssd].ended[static_cast<std::size_t>(f)] >= since;
  }
  /// It answers everything as it should, and has all the time.
  bool was_whole(std::uint32_t ssd, std::uint64_t since) const {
    return !was(ssd, fw::ssd_fault::dead, since) && !was(ssd, fw::ssd_fault::silent, since) &&
           !(damaged_ == ssd || (undamaged_ == ssd && mended_ >= since));
  }
  /// Some page of it is bad, or none is any more.
  void goes_bad(std::uint32_t ssd) { damaged_ = ssd; }
  void is_mended() {
    undamaged_ = damaged_;
    damaged_ = nobody;
    mended_ = step_;
  }
  bool had_bad_page(std::uint32_t ssd, std::uint64_t since) const {
    return damaged_ == ssd || (undamaged_ == ssd && mended_ >= since);
  }
  /// The manager has heard that it fails.
  void manager_hears(std::uint32_t ssd) {
    if (ssds_[ssd].known_ns == never) ssds_[ssd].known_ns = now_ns_;
  }
  /// The manager has forgotten what it had not sent the SSDs.
  void manager_forgets() {
    for (disk& d : ssds_) d.known_ns = never;
  }
  /// When the manager heard of its failure; `never`.
  std::uint64_t known_ns(std::uint32_t ssd) const { return ssds_[ssd].known_ns; }
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  // ---- what SSDs were sent

  /// An empty one is in its place.
  void replaced(std::uint32_t ssd) {
    disk& d = ssds_[ssd];
    for (const auto& [vid, t] : d.volumes) d.removed[vid] = step_;
    d.volumes.clear();
    d.epoch = 1;
    d.epoch_changed = step_;
    d.known_ns = never;
  }
  /// It is there again with what it had.
  void returns(std::uint32_t ssd) { ssds_[ssd].known_ns = never; }
  /// What it knows now.
  void sees(std::uint32_t ssd, const daemon::ssd_report& now) {
    disk& d = ssds_[ssd];
    if (now.serving.epoch != d.epoch) {
      d.epoch = now.serving.epoch;
      d.epoch_changed = step_;
    }
    std::erase_if(d.volumes, [&](const auto& known) {
      const auto same = [&](const auto& r) {
        return r.vid == known.first && r.hash_factor == known.second.r.hash_factor;
      };
      const bool gone = std::none_of(now.volumes.begin(), now.volumes.end(), same);
      if (gone) d.removed[known.first] = step_;
      return gone;
    });
    for (const wire::afa::volume_record& r : now.volumes) {
      if (!d.volumes.contains(r.vid)) d.volumes[r.vid] = {r, step_, step_, 0, {}};
      known_volume& v = d.volumes[r.vid];
      const wire::afa::volume_record before = std::exchange(v.r, r);
      if (r.ssd_count != before.ssd_count) v.spread = step_;
      if (r.held_until != before.held_until) v.held = step_;
      for (const wire::afa::volume_record* some : {&before, &r}) {
        for (std::uint32_t k = 0; k < some->client_count; ++k) {
          const std::uint16_t client = some->clients[k].client;
          if (rights_of(before, client) != rights_of(r, client)) v.rights_changed[client] = step_;
        }
      }
    }
  }
  /// It was in another epoch than this one.
  bool was_in_another(std::uint32_t ssd, std::uint32_t epoch, std::uint64_t since) const {
    return ssds_[ssd].epoch != epoch || ssds_[ssd].epoch_changed >= since;
  }
  /// It let nobody write the volume in this epoch.
  bool held(std::uint32_t ssd, std::uint16_t vid, std::uint32_t epoch, std::uint64_t since) const {
    if (lacked_volume(ssd, vid, since)) return false;
    const known_volume& v = ssds_[ssd].volumes.at(vid);
    return v.r.held_until > epoch || v.held >= since;
  }
  /// It did not know the volume, or another one of that VID.
  bool lacked_volume(std::uint32_t ssd, std::uint16_t vid, std::uint64_t since) const {
    const disk& d = ssds_[ssd];
    const auto at = d.volumes.find(vid);
    if (at == d.volumes.end() || at->second.added >= since) return true;
    const auto gone = d.removed.find(vid);
    return gone != d.removed.end() && gone->second >= since;
  }
  /// It knew of no such right of the client, or heard of it meanwhile.
  bool lacked_right(std::uint32_t ssd, std::uint16_t vid, std::uint16_t client, std::uint32_t right,
                    std::uint64_t since) const {
    if (lacked_volume(ssd, vid, since)) return true;
    const known_volume& v = ssds_[ssd].volumes.at(vid);
    const auto changed = v.rights_changed.find(client);
    return (rights_of(v.r, client) & right) == 0 ||
           (changed != v.rights_changed.end() && changed->second >= since);
  }
  /// It had the volume spread over another number of SSDs.
  bool had_other_placement(std::uint32_t ssd, std::uint16_t vid, std::uint32_t ssd_count,
                           std::uint64_t since) const {
    if (lacked_volume(ssd, vid, since)) return true;
    const known_volume& v = ssds_[ssd].volumes.at(vid);
    return v.r.ssd_count != ssd_count || v.spread >= since;
  }
  /// The epoch that clients may know.
  void published(std::uint32_t epoch) { published_ = epoch; }
  std::uint32_t published() const { return published_; }

  // ---- engines and queues

  void stands_still(std::uint32_t role) { stalls_.push_back({role, now_ns_, never}); }
  void goes_on(std::uint32_t role) {
    for (stall& s : stalls_) {
      if (s.role == role && s.to_ns == never) s.to_ns = now_ns_;
    }
    constexpr std::uint64_t remembered_ns = 20'000'000;
    std::erase_if(stalls_, [&](const stall& s) {
      return s.to_ns != never && s.to_ns + remembered_ns < now_ns_;
    });
  }
  void all_go_on() {
    for (stall& s : stalls_) s.to_ns = std::min(s.to_ns, now_ns_);
  }
  /// How long an engine stood still from `from_ns` until now.
  std::uint64_t stood_still(std::uint32_t role, std::uint64_t from_ns) const {
    std::uint64_t sum = 0;
    for (const stall& s : stalls_) {
      const std::uint64_t first = std::max(s.from_ns, from_ns);
      const std::uint64_t last = std::min(s.to_ns, now_ns_);
      if (s.role == role && last > first) sum += last - first;
    }
    return sum;
  }
  void corrupted(std::uint32_t queue) { corrupted_[queue] = step_; }
  bool was_corrupted(std::uint32_t queue, std::uint64_t since) const {
    const auto at = corrupted_.find(queue);
    return at != corrupted_.end() && at->second >= since;
  }

 private:
  static constexpr std::uint32_t nobody = ~0u;
  struct known_volume {
    wire::afa::volume_record r{};
    std::uint64_t added = 0;
    std::uint64_t spread = 0;
    std::uint64_t held = 0;
    std::map<std::uint16_t, std::uint64_t> rights_changed{};
  };
  struct disk {
    fw::ssd_fault fault = fw::ssd_fault::none;
    std::uint64_t ended[4] = {};
    std::uint64_t known_ns = never;
    std::uint32_t epoch = 1;
    std::uint64_t epoch_changed = 0;
    std::map<std::uint16_t, known_volume> volumes{};
    std::map<std::uint16_t, std::uint64_t> removed{};
  };
  struct stall {
    std::uint32_t role;
    std::uint64_t from_ns;
    std::uint64_t to_ns;
  };

  static std::uint32_t rights_of(const wire::afa::volume_record& r, std::uint16_t client) {
    for (std::uint32_t k = 0; k < r.client_count; ++k) {
      if (r.clients[k].client == client) return r.clients[k].rights;
    }
    return 0;
  }

  std::vector<disk> ssds_;
  std::vector<stall> stalls_;
  std::map<std::uint32_t, std::uint64_t> corrupted_;
  std::uint32_t damaged_ = nobody;
  std::uint32_t undamaged_ = nobody;
  std::uint64_t mended_ = 0;
  std::uint32_t published_ = 1;
  std::uint64_t step_ = 1;
  std::uint64_t now_ns_ = 0;
};

}  // namespace gnstor::test

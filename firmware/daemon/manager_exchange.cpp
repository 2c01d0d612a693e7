/// How an SSD comes to serve at a place that is not its own, beside the one that does or after it.

#include <daemon/manager.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace gnstor::daemon {

void manager::ssd_stands_in(std::uint32_t ssd, std::uint32_t place, std::vector<std::uint16_t> has,
                            std::optional<ssd_report> says) {
  queue_.push_back({.what = action::replace,
                    .ssd = ssd,
                    .place = place,
                    .has = std::move(has),
                    .says = std::move(says)});
}

bool manager::is_used(std::uint32_t place) const {
  return std::any_of(volumes_.begin(), volumes_.end(),
                     [&](const auto& entry) { return (places(entry.second.r) & bit(place)) != 0; });
}

manager::hindrance manager::may_stand_in(std::uint32_t ssd, std::uint32_t place) const {
  if ((present() & bit(ssd)) != 0) return hindrance::absent_self;
  if (is_used(ssd) || ssd == place) return hindrance::used;
  const std::uint64_t there = now_serving_.at(place) & present();
  if ((there & now_serving_.filling) != 0) return hindrance::under_way;
  const std::uint64_t former = now_serving_.others.of(bit(place)) & now_serving_.absent;
  if (!now_serving_.others.without(former | bit(ssd)).has_room()) return hindrance::no_room;
  return has_room_at(place) ? hindrance::none : hindrance::many_copies;
}

bool manager::has_room_at(std::uint32_t place) const {
  return std::none_of(volumes_.begin(), volumes_.end(),
                      [&](const auto& entry) { return is_crowded(entry.second.r, bit(place)); });
}

/// True if blocks of a volume would lie on more SSDs than a list of replicas holds: on one at each
/// of their places, on those that serve beside it, and on one more at the places `also`, by bit.
bool manager::is_crowded(const wire::afa::volume_record& r, std::uint64_t also) const {
  std::uint32_t copies = r.replicas;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((places(r) & bit(k)) == 0) continue;
    const auto there = static_cast<std::uint32_t>(std::popcount(now_serving_.at(k) & present())) +
                       static_cast<std::uint32_t>(also >> k & 1);
    copies += there > 1 ? there - 1 : 0;
  }
  return copies > wire::afa::max_replicas;
}

std::optional<std::uint32_t> manager::successor_at(std::uint32_t place) const {
  const std::uint64_t there = now_serving_.at(place) & present();
  if ((there & ~now_serving_.filling) == 0) return std::nullopt;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((there & now_serving_.filling & bit(k)) != 0) return k;
  }
  return std::nullopt;
}

/// SSDs, by bit, at places at which another one serves, too.
std::uint64_t manager::side_by_side() const {
  const wire::afa::stand_ins& others = now_serving_.others;
  std::uint64_t all = 0;
  for (std::uint32_t k = 0; k < wire::afa::stand_ins::most; ++k) {
    const std::uint64_t there = others.has(k) ? now_serving_.at(others.place(k)) & present() : 0;
    if ((there & (there - 1)) != 0) all |= there;
  }
  return all;
}

wire::afa::array_membership manager::present_membership() const {
  const bool any = now_serving_.others.any();
  return {any ? wire::afa::version_with_others : wire::afa::payload_version, now_serving_.epoch,
          now_serving_.absent, now_serving_.filling};
}

}  // namespace gnstor::daemon

#include "write_order.hpp"

#include <gnstor/core/assert.hpp>

#include <algorithm>
#include <bit>

namespace gnstor::serve {

/// All others that change a block of a change.
template <class Visit>
void write_order::each_overlapping(const share& s, const turn& t, Visit visit) {
  const auto meets = [&t](const turn* o) {
    return o != &t && o->volume_ == t.volume_ && o->first_ < t.end_ && t.first_ < o->end_;
  };
  for (std::uint64_t left = s.lengths; left != 0; left &= left - 1) {
    const auto length = static_cast<std::uint32_t>(std::countr_zero(left));
    const std::uint64_t longest = std::uint64_t{1} << length;
    const std::uint64_t from = t.first_ < longest ? 0 : t.first_ - longest + 1;
    const auto& all = s.of_length[length];
    const auto end = all.lower_bound({t.volume_, t.end_});
    for (auto at = all.lower_bound({t.volume_, from}); at != end; ++at)
      if (meets(at->second)) visit(*at->second);
  }
}

bool write_order::enter(turn& t, volume_id of, std::uint64_t first, std::uint64_t blocks) {
  share& s = share_of(of.value);
  const std::lock_guard lock(s.guard);
  t.volume_ = of.value;
  t.first_ = first;
  t.end_ = first + blocks;
  t.number_ = s.entered++;
  t.earlier_ = 0;
  t.followed_ = false;
  t.length_ = static_cast<std::uint32_t>(std::bit_width(std::max<std::uint64_t>(blocks, 1) - 1));
  GNSTOR_VERIFY(t.length_ < s.of_length.size());
  t.at_ = s.of_length[t.length_].emplace(place{t.volume_, first}, &t);
  s.lengths |= std::uint64_t{1} << t.length_;
  each_overlapping(s, t, [&t](turn& earlier) {
    ++t.earlier_;
    earlier.followed_ = true;
  });
  return t.earlier_ == 0;
}

void write_order::leave(turn& t) {
  share& s = share_of(t.volume_);
  const std::lock_guard lock(s.guard);
  auto& alike = s.of_length[t.length_];
  alike.erase(t.at_);
  if (alike.empty()) s.lengths &= ~(std::uint64_t{1} << t.length_);
  if (!t.followed_) return;
  each_overlapping(s, t, [&t](turn& later) {
    if (later.number_ > t.number_ && --later.earlier_ == 0) later.comes();
  });
}

}  // namespace gnstor::serve

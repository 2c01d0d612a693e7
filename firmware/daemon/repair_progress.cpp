/// How far a repair is, and what its parts come to together.

#include <daemon/repair.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace gnstor::daemon {

std::uint64_t repair::looked_at() const {
  if (order_.kind == repair_kind::mend) return listed_;
  std::uint64_t blocks = volume_ < volumes_.size() ? first_ : 0;
  for (std::size_t k = 0; k < volume_ && k < volumes_.size(); ++k)
    blocks += volumes_[k].capacity_blocks;
  return blocks;
}

std::uint64_t repair::to_look_at() const {
  if (order_.kind == repair_kind::mend) return order_.blocks.size();
  std::uint64_t blocks = 0;
  for (const wire::afa::volume_record& r : volumes_) blocks += r.capacity_blocks;
  return blocks;
}

void repair::join(const repair& part) {
  ok_ = ok_ && part.ok_;
  compared_ += part.compared_;
  mended_ += part.mended_;
  lost_ += part.lost_;
  std::vector<std::uint32_t> both;
  std::merge(damaged_.begin(), damaged_.end(), part.damaged_.begin(), part.damaged_.end(),
             std::back_inserter(both));
  if (both.size() > most_damaged) both.resize(most_damaged);
  damaged_ = std::move(both);
}

}  // namespace gnstor::daemon

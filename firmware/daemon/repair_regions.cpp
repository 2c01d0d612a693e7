/// What a repair hears of where volumes were written.

#include <daemon/repair.hpp>

#include <bit>
#include <cstring>
#include <iterator>

namespace gnstor::daemon {

/// Asks the next SSD for its dirty regions. False: all have been asked.
bool repair::asks_regions() {
  asking_ = unasked_ != 0;
  if (!asking_) return false;
  const auto ssd = static_cast<std::uint32_t>(std::countr_zero(unasked_));
  unasked_ &= unasked_ - 1;
  first_ = 0;
  blocks_ = 1;
  using asked = repair_step::kind;
  return ask_ssd(watches() ? asked::regions_since : asked::regions, ssd, 0);
}

/// Adds what an SSD has answered. One that says anything else says that all is dirty.
void repair::note_regions() {
  wire::afa::dirty_regions said;
  std::memcpy(&said, memory_, sizeof said);
  const std::uint16_t vid = volumes_[volume_].vid;
  const bool known = said.version == wire::afa::payload_version && said.vid == vid;
  for (std::size_t w = 0; w < std::size(said.words); ++w)
    dirty_.words[w] |= known ? said.words[w] : ~std::uint32_t{0};
}

/// All SSDs have answered: what a volume's SSD has lost before is not dealt with again.
void repair::compare_regions() {
  if (order_.kind != repair_kind::forget) return;
  marked_ = order_.kept.regions.at(volumes_[volume_].vid);
  marked_.version = wire::afa::payload_version;
  marked_.vid = volumes_[volume_].vid;
  for (std::size_t w = 0; w < std::size(marked_.words); ++w) {
    dirty_.words[w] &= ~marked_.words[w];
    marked_.words[w] |= dirty_.words[w];
  }
}

}  // namespace gnstor::daemon

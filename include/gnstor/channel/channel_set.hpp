#pragma once

#include <gnstor/simt/warp_number.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Several channels to the same array; each warp keeps to one of them (a reference, passed by
/// value).
template <class Channel>
class channel_set {
 public:
  using channel_type = Channel;

  GNSTOR_HD channel_set(const Channel* channels, std::uint32_t count)
      : channels_(channels), count_(count) {}

  GNSTOR_HD std::uint32_t size() const { return count_; }
  GNSTOR_HD const Channel& operator[](std::uint32_t k) const { return channels_[k]; }

  /// The calling warp's channel: warps are dealt out in turn (`simt::warp_number`), whatever the
  /// shape of their blocks. A copy, so that its lanes have it in
  /// registers: memory would be asked again after every ordered load.
  GNSTOR_HD Channel mine() const { return channels_[my_index()]; }
  /// Which one that is.
  GNSTOR_HD std::uint32_t my_index() const { return simt::warp_number() % count_; }

 private:
  const Channel* channels_;
  std::uint32_t count_;
};

}  // namespace gnstor::inline v0
